//! Drives a real Chromium through its DevTools pipe: two FIFOs and JSON that ends in a zero byte. No
//! driver to install, no port to open.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// A page that takes longer than this hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    next: u64,
    /// What the page threw, and what its policy refused.
    pub complaints: Vec<String>,
    folder: PathBuf,
}

impl Browser {
    pub fn start(folder: &Path) -> Self {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).expect("a folder for the browser");
        let pipe = |name: &str| {
            let path = folder.join(name);
            let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
            assert!(made.success());
            path
        };
        let (to, from) = (pipe("to"), pipe("from"));
        let child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<\"$TO\" 4>\"$FROM\"", "sh"])
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .env("TO", &to)
            .env("FROM", &from)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        // Opening waits for the other end, in the order in which the shell opens them.
        let to = File::options().write(true).open(to).expect("chromium is installed: ./dev setup");
        let from = messages(File::open(from).expect("chromium is installed: ./dev setup"));
        let mut browser = Self {
            child,
            to,
            from,
            session: String::new(),
            next: 0,
            complaints: Vec::new(),
            folder: folder.to_owned(),
        };
        let page = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach);
        attached["sessionId"].as_str().expect("a session").clone_into(&mut browser.session);
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, json!({}));
        }
        browser
    }

    /// Sends a command and waits for its answer; messages of the page meanwhile are kept.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(message.to_string().as_bytes()).expect("the browser listens");
        self.to.write_all(&[0]).expect("the browser listens");
        loop {
            let answer = self
                .from
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            match answer["method"].as_str() {
                Some("Runtime.exceptionThrown") => {
                    self.complaints.push(answer["params"]["exceptionDetails"].to_string());
                }
                Some("Log.entryAdded") if answer["params"]["entry"]["level"] == "error" => {
                    self.complaints.push(answer["params"]["entry"]["text"].to_string());
                }
                _ => {}
            }
        }
    }

    /// Opens a page and waits until it is drawn.
    pub fn open(&mut self, page: &str, hash: &str) {
        let path = self.folder.join("page.html");
        std::fs::write(&path, page).expect("writable");
        // Another address each time, or only the part after # changes and nothing is loaded.
        self.ask("Page.navigate", json!({ "url": "about:blank" }));
        self.ask("Page.navigate", json!({ "url": format!("file://{}{hash}", path.display()) }));
        self.until("document.readyState === 'complete' && document.querySelector('h1') !== null");
    }

    /// The value of an expression in the page.
    pub fn get(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.ask("Runtime.evaluate", params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].clone()
    }

    pub fn text(&mut self, selector: &str) -> String {
        let value =
            self.get(&format!("document.querySelector({})?.textContent ?? ''", json!(selector)));
        value.as_str().unwrap_or_default().to_owned()
    }

    pub fn count(&mut self, selector: &str) -> u64 {
        self.get(&format!("document.querySelectorAll({}).length", json!(selector)))
            .as_u64()
            .unwrap_or(0)
    }

    /// Polls a condition; the browser itself waits in between.
    pub fn until(&mut self, condition: &str) {
        let expression = format!(
            "new Promise(done => {{ const begin = Date.now(); const look = () => {{ let is = false; \
             try {{ is = {condition}; }} catch {{}} \
             if (is || Date.now() - begin > 20000) done(is); else setTimeout(look, 20); }}; look(); }})"
        );
        assert_eq!(self.get(&expression), json!(true), "never came true: {condition}");
    }

    /// Presses and releases a key.
    pub fn key(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            "Home" => 36,
            "End" => 35,
            "Escape" => 27,
            "Tab" => 9,
            _ => key.chars().next().map_or(0, |c| u32::from(c.to_ascii_uppercase())),
        };
        for kind in [if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.ask(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code }),
            );
        }
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let params =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", params);
    }

    /// `light` or `dark`, and `screen` or `print`.
    pub fn look(&mut self, scheme: &str, media: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.ask("Emulation.setEmulatedMedia", json!({ "media": media, "features": features }));
    }

    /// Keeps a picture.
    pub fn picture(&mut self, name: &str, whole: bool) {
        let shot = self.ask(
            "Page.captureScreenshot",
            json!({ "format": "png", "captureBeyondViewport": whole }),
        );
        let bytes = base64(shot["data"].as_str().unwrap_or_default());
        assert!(bytes.len() > 2000, "{name} is empty");
        std::fs::write(self.folder.join(name), bytes).expect("writable");
    }
}

impl Browser {
    /// Prints the page and returns the number of sheets.
    pub fn print(&mut self, name: &str) -> usize {
        let printed = self.ask("Page.printToPDF", json!({ "printBackground": true }));
        let bytes = base64(printed["data"].as_str().unwrap_or_default());
        assert!(bytes.starts_with(b"%PDF"), "{name} is no PDF");
        std::fs::write(self.folder.join(name), &bytes).expect("writable");
        let text = String::from_utf8_lossy(&bytes);
        text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn messages(from: File) -> Receiver<Value> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut buffer = Vec::new();
        while reader.read_until(0, &mut buffer).is_ok_and(|count| count > 0) {
            buffer.pop();
            let Ok(value) = serde_json::from_slice(&buffer) else { break };
            if send.send(value).is_err() {
                break;
            }
            buffer.clear();
        }
    });
    receive
}

fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut word, mut bits) = (0u32, 0);
    for digit in text.bytes().filter_map(value) {
        word = word << 6 | u32::from(digit);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
        }
    }
    out
}
