//! The targets of the browser (pages, frames, workers): our page is set up, its frames and workers get the same rules,
//! and other pages are closed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cookies;
use super::devtools::DevTools;
use crate::model::Task;
use crate::robot::cookies::CookieJar;
use crate::robot::error::SessionError;
use crate::robot::transport::USER_AGENT;

/// From the start of Chromium to its first answer, which takes half a second on a quiet machine.
const START_TIMEOUT: Duration = Duration::from_secs(30);

impl DevTools {
    /// Sets up our page. `startup_error` says why Chromium does not answer.
    pub async fn open_page(
        &mut self,
        task: &Task,
        jar: &CookieJar,
        startup_error: impl FnOnce() -> String,
    ) -> Result<(), SessionError> {
        let version = match self.call_in(None, "Browser.getVersion", json!({}), START_TIMEOUT).await {
            Ok(version) => version,
            Err(SessionError::Deadline(url)) => return Err(SessionError::Deadline(url)),
            Err(_) => return Err(SessionError::BrowserStart(startup_error())),
        };
        self.user_agent = task.fetch.user_agent.clone().unwrap_or_else(|| {
            // Chromium's own user agent, with pieme's appended.
            let own = version["userAgent"].as_str().unwrap_or_default().replace("HeadlessChrome", "Chrome");
            format!("{own} {USER_AGENT}")
        });
        let deny = json!({ "behavior": "deny", "eventsEnabled": true });
        self.call_in(None, "Browser.setDownloadBehavior", deny, START_TIMEOUT).await?;
        self.call_in(None, "Target.setDiscoverTargets", json!({ "discover": true }), START_TIMEOUT).await?;
        self.call_in(None, "Target.setAutoAttach", auto_attach(), START_TIMEOUT).await?;
        self.call_in(None, "Target.createTarget", json!({ "url": "about:blank" }), START_TIMEOUT).await?;
        let until = Instant::now() + START_TIMEOUT;
        // The first page becomes ours.
        while self.page_session.is_empty() && self.handle_next_until(until).await? {}
        self.call("Page.enable", json!({})).await?;
        let cookies = cookies::from_jar(jar);
        if !cookies.is_empty() {
            self.call("Network.setCookies", json!({ "cookies": cookies })).await?;
        }
        Ok(())
    }

    /// Puts a page, a frame or a worker under our rules. Not every kind of target knows every command.
    async fn attach_rules(&mut self, session: String) {
        let orders = [
            ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }], "handleAuthRequests": true })),
            ("Network.enable", json!({})),
            ("Network.setBypassServiceWorker", json!({ "bypass": true })),
            ("Network.setUserAgentOverride", json!({ "userAgent": self.user_agent, "acceptLanguage": "en" })),
            ("Target.setAutoAttach", auto_attach()),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ];
        for (method, params) in orders {
            self.send_command(Some(session.clone()), method, params).await;
        }
    }

    pub(super) async fn on_target_event(&mut self, method: &str, params: &Value, session: Option<String>) {
        let ours = self.traffic.main_frame.clone();
        match method {
            "Target.attachedToTarget" => {
                let (kind, target) = (&params["targetInfo"]["type"], &params["targetInfo"]["targetId"]);
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                if *kind != "page" {
                    self.attach_rules(session).await;
                } else if self.page_session.is_empty() {
                    self.page_session = session.clone();
                    self.traffic.main_frame = target.as_str().unwrap_or_default().to_owned();
                    self.attach_rules(session).await;
                } else if *target != ours.as_str() {
                    self.traffic.note("closed a window that the page opened");
                    self.send_command(None, "Target.closeTarget", json!({ "targetId": target })).await;
                }
            }
            "Target.targetCrashed" if params["targetId"] == ours.as_str() => {
                let url = self.traffic.url();
                let is_memory = params["status"] == "oom";
                self.page_crash =
                    Some(if is_memory { SessionError::PageMemory(url) } else { SessionError::PageCrashed(url) });
            }
            "Inspector.targetCrashed" if session.as_ref() == Some(&self.page_session) => {
                self.page_crash.get_or_insert(SessionError::PageCrashed(self.traffic.url()));
            }
            _ => {}
        }
    }
}

/// New targets are paused until they are under our rules. The browser's own windows and bars are excluded.
fn auto_attach() -> Value {
    let but = |kind: &str| json!({ "type": kind, "exclude": true });
    let filter = json!([but("browser"), but("browser_ui"), but("tab"), {}]);
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter })
}
