//! Colours and type of the pictures, as the report page has them. Written out as rules and not as
//! custom properties, because several viewers of SVG know only the former.

/// Shapes that the drawing refers to.
pub const DEFINITIONS: &str = "\
<defs>
<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" d=\"M0 0.5 8 4 0 7.5Z\"/></marker>
<marker id=\"head-order\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head-order\" d=\"M0 0.5 8 4 0 7.5Z\"/></marker>
<pattern id=\"hatch\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" \
patternTransform=\"rotate(45)\"><path class=\"hatch\" d=\"M0 0V4\"/></pattern>
</defs>
";

struct Palette {
    surface: &'static str,
    ink: &'static str,
    ink2: &'static str,
    ink3: &'static str,
    line2: &'static str,
    /// Stroke, fill, text on the stroke colour: the interrupted thread.
    a: [&'static str; 3],
    /// The others.
    b: [&'static str; 3],
    tear: &'static str,
}

const LIGHT: Palette = Palette {
    surface: "#ffffff",
    ink: "#1b1c1f",
    ink2: "#4d5057",
    ink3: "#686b72",
    line2: "#c6c2ba",
    a: ["#1a5bb8", "#e9f0fb", "#ffffff"],
    b: ["#8f5200", "#fbf0dd", "#ffffff"],
    tear: "#b0104a",
};

const DARK: Palette = Palette {
    surface: "#1a1d21",
    ink: "#e9e7e2",
    ink2: "#b9bbc0",
    ink3: "#959aa2",
    line2: "#454b54",
    a: ["#86b7ff", "#172a45", "#0d1728"],
    b: ["#efb562", "#36280f", "#241802"],
    tear: "#ff86a6",
};

const SHAPES: &str = "\
text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;\
font-size:12.5px;font-variant-numeric:tabular-nums}
.title{font-size:18px;font-weight:640}
.thread{font-size:13.5px;font-weight:600}
.name,.pill-text,.pill-text-w{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace}
.name{font-size:12px;font-weight:600}
.pill-text,.pill-text-w{font-size:12px;font-weight:600}
.around .pill-text,.around .pill-text-w{font-size:11px;font-weight:400}
.place,.position{font-size:11px}
.torn-text{font-size:12px;font-weight:600;paint-order:stroke;stroke-width:6px}
.badge-text{font-size:10.5px;font-weight:600}
.life{stroke-width:1;stroke-dasharray:2 4;fill:none}
.box,.edge{stroke-width:1.5}
.ghost{fill:none;stroke-width:1.5;stroke-dasharray:3 4}
.zigzag{fill:none;stroke-width:2;stroke-linejoin:round}
.pill{stroke-width:2}
.around .pill{stroke-width:1}
.halo{fill:none;stroke-width:7}
.arrow,.arrow-order{fill:none;stroke-width:2}
.closing{stroke-dasharray:6 4}
.badge{stroke-width:1.5}
.hatch{stroke-width:1.6}
";

/// The style sheet for both themes.
pub fn css() -> String {
    format!(
        "{SHAPES}{}@media (prefers-color-scheme:dark){{\n{}}}\n",
        colours(&LIGHT),
        colours(&DARK)
    )
}

fn colours(p: &Palette) -> String {
    let mut out = format!(
        ".surface,.badge{{fill:{surface}}}.halo,.torn-text{{stroke:{surface}}}\n\
         text,.title,.thread,.name{{fill:{ink}}}.sentence,.place{{fill:{ink2}}}.position,.subtitle{{fill:{ink3}}}\n\
         .life{{stroke:{line2}}}.hatch{{stroke:{ink2}}}.lock{{fill:url(#hatch);stroke:{ink2}}}\n\
         .ghost,.zigzag,.arrow,.badge{{stroke:{tear}}}.head,.torn-text,.badge-text{{fill:{tear}}}\n\
         .arrow-order{{stroke:{ink3}}}.head-order{{fill:{ink3}}}\n",
        surface = p.surface,
        ink = p.ink,
        ink2 = p.ink2,
        ink3 = p.ink3,
        line2 = p.line2,
        tear = p.tear,
    );
    for (class, [stroke, tint, on]) in [("a", p.a), ("b", p.b)] {
        out.push_str(&format!(
            ".{class} .box{{fill:{tint};stroke:{stroke}}}.{class} .glyph{{fill:{stroke}}}\
             .{class} .fill{{fill:{tint};stroke:none}}.{class} .edge{{fill:none;stroke:{stroke}}}\
             .{class} .pill{{fill:{surface};stroke:{stroke}}}\
             .{class} .pill-w{{fill:{stroke}}}.{class} .pill-text-w{{fill:{on}}}\
             .{class} .around .pill-w{{fill:{surface}}}.{class} .around .pill-text-w{{fill:{ink}}}\n",
            surface = p.surface,
            ink = p.ink,
        ));
    }
    out
}
