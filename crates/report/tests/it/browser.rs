//! The page in a real Chromium: filters, steps, keys, themes, sizes, a thousand findings, hostile
//! names. Pictures are left in the target folder.

mod chromium;

use std::path::Path;

use serde_json::json;
use untorn_report::html;

use chromium::Browser;

use crate::pages;

/// One browser, one page after the other: starting it takes longer than all the rest.
#[test]
fn the_page_in_a_real_browser() {
    let mut browser = Browser::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser"));
    browser.size(1440, 900);
    browser.look("light", "screen");
    steps_and_keys(&mut browser);
    filters_and_search(&mut browser);
    looks(&mut browser);
    kinds(&mut browser);
    deadlocks(&mut browser);
    two_variables(&mut browser);
    a_long_schedule(&mut browser);
    a_thousand(&mut browser);
    hostile_names(&mut browser);
    on_paper(&mut browser);
    nothing_found(&mut browser);
    assert_eq!(browser.complaints, Vec::<String>::new(), "the page complained");
}

fn steps_and_keys(browser: &mut Browser) {
    browser.open(&html::render(&pages::all_kinds()), "");
    assert_eq!(
        browser.text("h1"),
        "Bob’s balance of 50 is lost: Alice overwrote it with 70, still knowing only 100."
    );
    assert_eq!(browser.count("h1"), 1);
    assert_eq!(browser.text(".where"), "Step 7 of 9", "it opens at the moment of the tear");
    assert_eq!(
        browser.get("document.querySelector('.middle svg').textContent.includes('still holds')"),
        json!(true)
    );
    // The whole stage is in sight without scrolling.
    let bottom = browser.get("document.querySelector('.stage').getBoundingClientRect().bottom");
    assert!(bottom.as_f64().is_some_and(|bottom| bottom <= 960.0), "the stage ends at {bottom}");
    browser.picture("bank-light.png", false);
    browser.key("ArrowLeft");
    assert_eq!(browser.text(".where"), "Step 6 of 9");
    assert_eq!(browser.get("location.hash"), json!("#f=1&step=6"));
    browser.key("2");
    assert_eq!(browser.text(".where"), "Step 5 of 9");
    assert_eq!(browser.text(".what"), "Bob writes 50 to balance. Alice still holds 100.");
    assert_eq!(browser.text(".memory b"), "50");
    assert!(browser.text(".left .facts").contains("stale"), "what Alice read is stale now");
    assert_eq!(browser.text(".right .at span"), "9", "Bob is at line 9");
    assert_eq!(browser.text(".left .state"), "paused at 5");
    browser.key("1");
    assert_eq!(browser.text(".where"), "Step 2 of 9");
    browser.get("document.querySelector('.hit[aria-current]').focus()");
    browser.key("End");
    assert_eq!(browser.text(".where"), "Step 9 of 9");
    browser.key("ArrowUp");
    assert_eq!(browser.text(".where"), "Step 8 of 9");
    browser.get("document.querySelector('.slide input').focus()");
    browser.key("Home");
    assert_eq!(browser.text(".where"), "Step 1 of 9");
    assert_eq!(
        browser.get("document.querySelector('.slide input').getAttribute('aria-valuetext')"),
        json!("Alice enters withdraw.")
    );
    browser.key("j");
    browser.until("document.querySelector('.item[aria-current]').textContent.includes('Set.add')");
    browser.key("k");
    browser.until("document.querySelector('.item[aria-current]').textContent.includes('withdraw')");
    browser.key("?");
    assert_eq!(browser.count("dialog[open]"), 1);
    browser.key("Escape");
    assert_eq!(browser.count("dialog[open]"), 0);
    quick_step(browser);
}

/// A step changes what it is about, and does not build the page anew: how much it changes is counted, because how long it
/// takes depends on what else the machine does.
fn quick_step(browser: &mut Browser) {
    let changes = browser.get(
        "(() => { const watch = new MutationObserver(() => {}); \
         watch.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true}); \
         const count = name => { document.querySelector('.step.' + name).click(); \
         return watch.takeRecords().reduce((sum, own) => sum + 1 + own.addedNodes.length, 0); }; \
         const all = ['previous', 'next', 'previous', 'next'].map(count); \
         watch.disconnect(); return Math.max(...all); })()",
    );
    let nodes = browser.get("document.querySelectorAll('body *').length");
    let (changes, nodes) = (changes.as_f64().unwrap_or(f64::MAX), nodes.as_f64().unwrap_or(0.0));
    assert!(
        changes > 0.0 && changes < nodes / 2.0,
        "a step makes {changes} changes to {nodes} nodes"
    );
}

fn filters_and_search(browser: &mut Browser) {
    browser.open(&html::render(&pages::all_kinds()), "");
    assert_eq!(browser.count(".item"), 16);
    browser.key("/");
    for key in ["r", "i", "n", "g"] {
        browser.key(key);
    }
    browser.until("document.querySelectorAll('.item').length === 2");
    browser.key("Escape");
    browser.get("document.querySelector('.count .link').click()");
    browser.get("document.querySelector('.tally[data-status=predicted]').click()");
    browser.until("document.querySelectorAll('.item').length === 2");
    assert!(browser.text("h1").contains("Alice"), "the open finding stays");
    browser.get("document.querySelector('.item').click()");
    assert!(browser.text("h1").contains("no run has reached it"));
    browser.get("(() => { const s = document.querySelector('#search'); s.value = 'no such thing'; s.dispatchEvent(new Event('input')); })()");
    assert!(browser.text(".list").contains("No finding matches"));
}

fn looks(browser: &mut Browser) {
    let page = html::render(&pages::all_kinds());
    browser.look("dark", "screen");
    browser.open(&page, "");
    assert_eq!(
        browser.get("getComputedStyle(document.body).backgroundColor"),
        json!("rgb(19, 21, 24)")
    );
    browser.picture("bank-dark.png", false);
    browser.key("t");
    assert_eq!(browser.get("document.documentElement.dataset.theme"), json!("light"));
    browser.key("t");
    browser.look("light", "screen");
    browser.get("localStorage.clear()");
    browser.size(390, 800);
    browser.open(&page, "");
    let wide = browser.get("document.documentElement.scrollWidth");
    assert!(wide.as_u64().is_some_and(|wide| wide <= 390), "the phone page is {wide} wide");
    browser.picture("bank-phone.png", true);
    browser.get("document.querySelector('.stage').scrollIntoView()");
    browser.picture("bank-phone-stage.png", false);
    browser.size(900, 1000);
    browser.open(&page, "");
    let wide = browser.get("document.documentElement.scrollWidth");
    assert!(wide.as_u64().is_some_and(|wide| wide <= 900), "the tablet page is {wide} wide");
    browser.picture("bank-tablet.png", true);
    browser.size(800, 1100);
    browser.look("light", "print");
    browser.get("dispatchEvent(new Event('beforeprint'))");
    assert_eq!(
        browser.get("getComputedStyle(document.querySelector('.rail')).display"),
        json!("none")
    );
    assert_ne!(
        browser.get("getComputedStyle(document.querySelector('.astext')).display"),
        json!("none")
    );
    browser.picture("bank-print.png", true);
    browser.look("light", "screen");
    browser.size(1440, 900);
}

/// Nothing that is drawn leaves its picture, whatever the shape of the finding.
fn kinds(browser: &mut Browser) {
    browser.open(&html::render(&pages::all_kinds()), "");
    let outside = "[...document.querySelectorAll('.middle svg, .graph svg')].flatMap(svg => { \
        const frame = svg.getBoundingClientRect(); return [...svg.querySelectorAll('text')].filter(text => { \
        const box = text.getBoundingClientRect(); return box.left < frame.left - 2 || box.right > frame.right + 2; \
        }).map(text => text.textContent); })";
    for number in 1..=16 {
        browser.get(&format!("location.hash = '#f={number}'"));
        browser.until(&format!(
            "document.querySelectorAll('.item')[{}].hasAttribute('aria-current')",
            number - 1
        ));
        assert_eq!(browser.get(outside), json!([]), "finding {number} leaves its picture");
        browser.picture(&format!("kind-{number}.png"), true);
    }
}

/// Locks take the place of memory; which thread waits is shown everywhere.
fn deadlocks(browser: &mut Browser) {
    let page = html::render(&pages::all_kinds());
    browser.open(&page, "#f=10");
    assert_eq!(
        browser.text("h1"),
        "Alice and Bob wait for each other: each holds the lock that the other one wants."
    );
    assert_eq!(browser.text(".where"), "Step 6 of 7", "it opens where the circle closes");
    assert_eq!(browser.text(".left .state"), "waits at 4");
    assert!(browser.text(".right .facts").contains("left for ever"));
    assert!(browser.text(".middle svg").contains("locks"));
    assert_eq!(browser.text("#graph"), "Who waits for whom");
    assert_eq!(browser.text("#why"), "Why no thread can continue");
    browser.key("2");
    assert_eq!(browser.text(".what"), "Bob takes right and keeps it.");
    assert_eq!(browser.text(".left .state"), "paused at 3");
    quick_step(browser);
    browser.open(&page, "#f=10");
    browser.picture("deadlock.png", true);
    browser.size(390, 800);
    browser.open(&page, "#f=10");
    let wide = browser.get("document.documentElement.scrollWidth");
    assert!(wide.as_u64().is_some_and(|wide| wide <= 390), "the phone page is {wide} wide");
    browser.picture("deadlock-phone.png", true);
    browser.size(1440, 900);
    browser.look("dark", "screen");
    browser.open(&page, "#f=10");
    browser.picture("deadlock-dark.png", false);
    browser.look("light", "screen");
    browser.open(&page, "#f=12");
    assert!(browser.text("h1").contains("what they wait for never comes"));
    assert!(browser.text("main").contains("Wait for a condition"));
}

fn two_variables(browser: &mut Browser) {
    let page = html::render(&pages::all_kinds());
    browser.open(&page, "#f=13");
    assert_eq!(
        browser.text("h1"),
        "reader saw the new x (1) and the old y (0): mover was only half done with moveTo."
    );
    assert_eq!(browser.count(".orders tbody tr"), 3, "two orders, and what was observed");
    assert!(browser.text(".verdict").contains("Neither order"));
    let bottom = browser.get("document.querySelector('.stage').getBoundingClientRect().bottom");
    assert!(bottom.as_f64().is_some_and(|bottom| bottom <= 960.0), "the stage ends at {bottom}");
    browser.picture("two-fields.png", true);
    browser.size(390, 800);
    browser.open(&page, "#f=13");
    let wide = browser.get("document.documentElement.scrollWidth");
    assert!(wide.as_u64().is_some_and(|wide| wide <= 390), "the phone page is {wide} wide");
    browser.picture("two-fields-phone.png", true);
    browser.size(1440, 900);
    browser.look("dark", "screen");
    browser.open(&page, "#f=14");
    assert!(browser.text("h1").contains("each checked what the other was about to change"));
    browser.picture("write-skew-dark.png", false);
    browser.look("light", "screen");
}

/// A hundred thousand steps are a picture of some forty rows that can be stepped through.
fn a_long_schedule(browser: &mut Browser) {
    let mut report = pages::nothing();
    report.findings = vec![pages::more::long(100_000)];
    browser.open(&html::render(&report), "");
    let rows = browser.count(".hit");
    assert!((10..=80).contains(&rows), "{rows} rows");
    assert_eq!(
        browser.text(".what"),
        "Alice writes 70 to balance, knowing only the 100 from before. Bob’s 50 is overwritten."
    );
    quick_step(browser);
    let gap = "[...document.querySelectorAll('.hit')].find(hit => hit.hasAttribute('aria-expanded') && hit.getAttribute('aria-label').includes('folded'))";
    browser.get(&format!("{gap}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))"));
    browser.until(&format!("{gap}.getAttribute('aria-expanded') === 'true'"));
    browser.get("document.querySelector('.slide input').focus()");
    browser.key("End");
    assert!(browser.text(".where").starts_with("Step "));
    browser.picture("long.png", true);
}

/// The page on paper: a few sheets, and not one for each step.
fn on_paper(browser: &mut Browser) {
    browser.open(&html::render(&pages::all_kinds()), "");
    let sheets = browser.print("bank.pdf");
    assert!((1..=5).contains(&sheets), "{sheets} sheets");
    browser.open(&html::render(&pages::all_kinds()), "#f=10");
    let sheets = browser.print("deadlock.pdf");
    assert!((1..=5).contains(&sheets), "{sheets} sheets");
}

fn a_thousand(browser: &mut Browser) {
    let page = html::render(&pages::many());
    browser.open(&page, "#f=977");
    assert_eq!(browser.count(".item"), 60, "those that are alike share a row");
    assert!(browser.text(".item").contains('×'));
    assert!(
        browser.text(".meta").contains("of 17 alike")
            || browser.text(".meta").contains("of 16 alike")
    );
    // A hidden page is not painted.
    browser.ask("Page.bringToFront", json!({}));
    browser.until("performance.getEntriesByName('first-contentful-paint').length > 0");
    let paint = browser.get("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    assert!(
        paint.as_f64().is_some_and(|ms| ms > 0.0 && ms < 1000.0),
        "first paint after {paint} ms"
    );
    assert_eq!(browser.get("scrollY"), json!(0), "the list scrolls, not the page");
    quick_step(browser);
    browser.picture("many.png", false);
}

/// The first elements that stick out of the window.
const WIDE: &str = "[...document.querySelectorAll('#app *')].filter(e => e.getBoundingClientRect().right > 1450 \
    && !e.closest('.scroll')).slice(0, 5).map(e => e.tagName + '.' + e.className)";

fn hostile_names(browser: &mut Browser) {
    let page = html::render(&pages::hostile());
    for number in 1..=9 {
        browser.open(&page, &format!("#f={number}"));
        assert_ne!(browser.get("document.title"), json!("pwned"), "a name was executed");
        assert_eq!(browser.count("#app script, #app img, #app iframe, #app a[href], #app [onload], #app [onerror], #app [style*=expression]"), 0);
        assert_eq!(
            browser.get("performance.getEntriesByType('resource').length"),
            json!(0),
            "nothing is loaded"
        );
        let wide = browser.get("document.documentElement.scrollWidth");
        assert!(
            wide.as_u64().is_some_and(|wide| wide <= 1440),
            "a name makes the page {wide} wide: {number}: {}",
            browser.get(WIDE)
        );
    }
    browser.picture("hostile.png", false);
}

fn nothing_found(browser: &mut Browser) {
    browser.open(&html::render(&pages::nothing()), "");
    assert_eq!(browser.text("h1"), "No torn block was found in this run.");
    assert!(browser.text(".empty").contains("evidence, not proof: 2 parts"));
    browser.get("document.querySelector('.empty button').click()");
    assert_eq!(browser.count("dialog[open] li"), 2);
    browser.picture("nothing.png", false);
}
