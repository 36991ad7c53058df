//! A real Chromium, driven over its DevTools pipe.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(40);
/// Chromium expects its two pipes as file descriptors 3 and 4.
const MOVE_PIPES: &str = r#"exec "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#;

pub struct Browser {
    child: Child,
    to: ChildStdin,
    said: Receiver<Value>,
    session: String,
    number: u64,
    _profile: TempDir,
}

impl Browser {
    pub fn start() -> Browser {
        let profile = tempfile::Builder::new().prefix("w").tempdir().expect("a scratch folder");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", MOVE_PIPES, "sh", "chromium", "--headless=new", "--remote-debugging-pipe", "--no-sandbox"]);
        command.args([
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
            "--lang=en-GB",
        ]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-extensions"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        let log = fs::File::create(profile.path().join("log")).expect("a scratch file");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().expect("chromium is installed");
        let to = child.stdin.take().expect("stdin is piped");
        let mut from = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (heard, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while matches!(from.read_until(0, &mut bytes), Ok(1..)) {
                bytes.pop();
                if let Ok(message) = serde_json::from_slice(&bytes)
                    && heard.send(message).is_err()
                {
                    return;
                }
                bytes.clear();
            }
        });
        let mut browser = Browser { child, to, said, session: String::new(), number: 0, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        browser.call("Page.enable", json!({}));
        browser.call("Runtime.enable", json!({}));
        browser.size(1280, 900);
        browser
    }

    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.number += 1;
        let mut order = json!({ "id": self.number, "method": method, "params": params });
        if !self.session.is_empty() {
            order["sessionId"] = self.session.clone().into();
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("chromium listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.said.recv_timeout(left).unwrap_or_else(|error| panic!("{method}: {error}"));
            if message["id"] == self.number {
                return match &message["error"] {
                    Value::Null => Ok(message["result"].clone()),
                    error => Err(error.clone()),
                };
            }
            if message["method"] == "Page.javascriptDialogOpening" {
                panic!("a page opened a dialog: {}", message["params"]);
            }
        }
    }

    pub fn size(&mut self, width: u32, height: u32) {
        let is_phone = width < 600;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
    }

    /// `light` or `dark`
    pub fn scheme(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Evaluates an expression; awaits promises.
    pub fn eval(&mut self, expression: &str) -> Value {
        let order = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", order);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub fn goto(&mut self, url: &str) {
        self.eval("window.isOld = true");
        let answer = self.call("Page.navigate", json!({ "url": url }));
        assert!(answer["errorText"].is_null(), "{url}: {answer}");
        self.wait_for_load(url);
    }

    pub fn wait_for_load(&mut self, what: &str) {
        self.wait_for(what, "!window.isOld && document.readyState === 'complete'");
    }

    /// Polls until the expression is true.
    pub fn wait_for(&mut self, what: &str, expression: &str) {
        let until = Instant::now() + PATIENCE;
        loop {
            let order = json!({ "expression": format!("!!({expression})"), "returnByValue": true });
            // Between two pages an evaluation fails.
            if self.ask("Runtime.evaluate", order).is_ok_and(|answer| answer["result"]["value"] == true) {
                return;
            }
            if Instant::now() > until {
                panic!("waited in vain for {what} ({expression})\n{}", self.text());
            }
            std::thread::park_timeout(Duration::from_millis(30));
        }
    }

    /// Logs in with the form of the dashboard at this address.
    pub fn log_in(&mut self, url: &str, password: &str) {
        self.goto(&format!("{url}log-in"));
        self.fill("#password", password);
        self.eval("window.isOld = true");
        self.press("Enter", 13);
        self.wait_for_load("the status page");
        assert_eq!(self.eval("location.pathname"), "/", "{}", self.text());
    }

    pub fn text(&mut self) -> String {
        let order = json!({ "expression": "document.body.innerText", "returnByValue": true });
        self.call("Runtime.evaluate", order)["result"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The text of the first element that matches.
    pub fn text_of(&mut self, css: &str) -> String {
        let found = self.eval(&format!("document.querySelector({css:?})?.textContent ?? null"));
        found.as_str().unwrap_or_else(|| panic!("no {css} on the page")).trim().to_owned()
    }

    /// Clicks again where the element moved away under the pointer: a page that changes while it is used does that.
    pub fn click(&mut self, css: &str) {
        let aim = format!(
            "(() => {{ const it = document.querySelector({css:?}); it.scrollIntoView({{block: 'center'}});
              window.isMissed = true; it.addEventListener('click', () => window.isMissed = false, {{capture: true}});
              const box = it.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }})()"
        );
        let mut place = self.eval(&aim);
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            for kind in ["mousePressed", "mouseReleased"] {
                let click = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
                self.call("Input.dispatchMouseEvent", click);
            }
            // A click may have led to another page, where nothing was missed.
            let order = json!({ "expression": format!("window.isMissed ? {aim} : null"), "returnByValue": true });
            let Ok(answer) = self.ask("Runtime.evaluate", order) else { return };
            let now = &answer["result"]["value"];
            if !now.is_array() || *now == place {
                return;
            }
            place = now.clone();
        }
        panic!("{css} never stood still long enough to be clicked\n{}", self.text());
    }

    pub fn fill(&mut self, css: &str, text: &str) {
        self.eval(&format!("document.querySelector({css:?}).focus(); document.querySelector({css:?}).select(); 1"));
        self.call("Input.insertText", json!({ "text": text }));
    }

    pub fn press(&mut self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let press = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", press);
        }
    }

    /// Runs `work` in the page's frame, which has an opaque origin and therefore is a target of its own. Clicks there
    /// use the frame's coordinates.
    pub fn in_frame<T>(&mut self, work: impl FnOnce(&mut Browser) -> T) -> T {
        let targets = self.call("Target.getTargets", json!({}))["targetInfos"].clone();
        let is_frame = |it: &&Value| it["type"] == "iframe";
        let frame = targets.as_array().into_iter().flatten().find(is_frame).expect("a frame")["targetId"].clone();
        let attached = self.call("Target.attachToTarget", json!({ "targetId": frame, "flatten": true }));
        let page = std::mem::replace(&mut self.session, attached["sessionId"].as_str().expect("a session").to_owned());
        let done = work(self);
        let order = json!({ "sessionId": std::mem::replace(&mut self.session, page) });
        self.call("Target.detachFromTarget", order);
        done
    }

    /// Presses the mouse button at one place and releases it at another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let mut mouse = |kind: &str, (x, y): (f64, f64)| {
            let order = json!({ "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", order);
        };
        mouse("mousePressed", from);
        for part in 1..=8 {
            let share = f64::from(part) / 8.0;
            mouse("mouseMoved", (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share));
        }
        mouse("mouseReleased", to);
    }

    /// The whole page as a PNG, at most `most` pixels high. The window becomes as high, because nothing beyond it is
    /// painted.
    pub fn picture(&mut self, width: u32, most: u32) -> Vec<u8> {
        let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
        self.size(
            width,
            size["height"].as_u64().map_or(most, |height| u32::try_from(height).unwrap_or(most).min(most)),
        );
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => 1)");
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap_or_default()).expect("base64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
