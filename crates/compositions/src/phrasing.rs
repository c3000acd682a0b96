//! Names as a programmer writes them.

use crate::finding::Step;
use crate::sets::{SetId, Sets};
use untorn_codemodel::access_paths::{AccessPath, Base, MethodContext};
use untorn_codemodel::body::{Action, ValueDef};
use untorn_codemodel::dependence::{Chain, Kind};
use untorn_codemodel::ids::{ClassId, InstrId, RefId, ValueId};
use untorn_codemodel::program::Program;

/// `org/acme/Cart$Item` as `org.acme.Cart$Item`.
pub fn class(program: &Program, id: ClassId) -> String {
    program.class_name(id).replace('/', ".")
}

/// `Cart$Item`, without its package.
fn short_class(program: &Program, id: ClassId) -> &str {
    let name = program.class_name(id);
    name.rsplit('/').next().unwrap_or(name)
}

pub fn api(program: &Program, called: RefId) -> String {
    let called = program.method_ref(called);
    format!("{}.{}", class(program, called.class), program.text(called.name))
}

pub fn descriptor(program: &Program, called: RefId) -> String {
    program.text(program.method_ref(called).descriptor).to_owned()
}

/// The path of a class's source file within its source folder.
pub fn source(program: &Program, id: ClassId) -> Option<String> {
    let file = program.text(program.class(id).source?);
    Some(match program.class_name(id).rsplit_once('/') {
        Some((package, _)) => format!("{package}/{file}"),
        None => file.to_owned(),
    })
}

/// `this.cache.map`, `Registry.instances`, `parameter 2`, `the result of getMap()`.
pub fn access_path(context: &MethodContext<'_>, place: &AccessPath) -> String {
    let program = context.program;
    let is_static = program.method(context.method).is_static();
    let mut text = match place.base {
        Base::Parameter(0) if !is_static => "this".to_owned(),
        Base::Parameter(number) => format!("parameter {}", number + u32::from(is_static)),
        Base::Class(id) => short_class(program, id).to_owned(),
        Base::Value(value) => value_phrase(context, value),
    };
    for &field in place.path() {
        text.push('.');
        text.push_str(program.text(program.field(field).name));
    }
    text
}

fn value_phrase(context: &MethodContext<'_>, value: ValueId) -> String {
    match context.body.value(value) {
        ValueDef::Instr(at) => match context.body.instr(*at).action {
            Action::New(id) => format!("new {}", short_class(context.program, id)),
            Action::Call(_, called) => {
                let name = context.program.text(context.program.method_ref(called).name);
                format!("the result of {name}()")
            }
            Action::ArrayLoad(_) => "an element of an array".to_owned(),
            _ => "a local variable".to_owned(),
        },
        ValueDef::Parameter(number) => format!("parameter {number}"),
        _ => "a local variable".to_owned(),
    }
}

/// The fields of a set, with their classes: `Cart.items`.
pub fn set(program: &Program, sets: &Sets, id: SetId) -> Vec<String> {
    let set = sets.set(id);
    let name = |field: &untorn_codemodel::program::Field| {
        if field.is_state {
            return format!("the content of the {}", short_class(program, set.class));
        }
        format!("{}.{}", short_class(program, field.class), program.text(field.name))
    };
    set.fields.iter().map(|&field| name(program.field(field))).collect()
}

pub fn steps(context: &MethodContext<'_>, chain: &Chain) -> Vec<Step> {
    chain.iter().map(|&(at, kind)| step(context, at, kind)).collect()
}

fn step(context: &MethodContext<'_>, at: InstrId, kind: Kind) -> Step {
    let program = context.program;
    let what = match context.body.instr(at).action {
        Action::Branch(_) => "a branch".to_owned(),
        Action::Call(_, called) => format!("{}()", program.text(program.method_ref(called).name)),
        Action::Get(field) | Action::Put(field) => {
            format!("the field {}", program.text(program.field(field).name))
        }
        Action::Literal(_) | Action::Constant { .. } | Action::Null => {
            "a value that is set".to_owned()
        }
        Action::Cast(_) => "a cast".to_owned(),
        Action::New(_) | Action::NewArray(_) => "a new object".to_owned(),
        Action::ArrayLoad(_) | Action::ArrayStore(_) => "an element of an array".to_owned(),
        _ => "a computation".to_owned(),
    };
    Step { line: context.body.line(at), kind, what }
}
