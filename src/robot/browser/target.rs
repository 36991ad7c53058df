//! The pages, frames and workers of the browser: ours is set up, those inside it are put under the same rules, all others closed.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Browser, START, crumbs};
use crate::model::Task;
use crate::robot::session::{Session, USER_AGENT};
use crate::robot::trouble::SessionError;

impl Browser {
    /// Opens our page.
    pub(super) async fn open(&mut self, task: &Task, session: &mut Session) -> Result<(), SessionError> {
        let version = match self.ask(None, "Browser.getVersion", json!({}), START).await {
            Ok(version) => version,
            Err(SessionError::Deadline(url)) => return Err(SessionError::Deadline(url)),
            Err(_) => return Err(SessionError::BrowserStart(self.chromium.last_words())),
        };
        self.agent = task.fetch.user_agent.clone().unwrap_or_else(|| {
            // What it is, and that it is ours.
            let own = version["userAgent"].as_str().unwrap_or_default().replace("HeadlessChrome", "Chrome");
            format!("{own} {USER_AGENT}")
        });
        let deny = json!({ "behavior": "deny", "eventsEnabled": true });
        self.ask(None, "Browser.setDownloadBehavior", deny, START).await?;
        self.ask(None, "Target.setDiscoverTargets", json!({ "discover": true }), START).await?;
        self.ask(None, "Target.setAutoAttach", auto_attach(), START).await?;
        self.ask(None, "Target.createTarget", json!({ "url": "about:blank" }), START).await?;
        let until = Instant::now() + START;
        // The first page that there is becomes ours.
        while self.page.is_empty() && self.hear_until(until).await? {}
        self.call("Page.enable", json!({})).await?;
        let cookies = crumbs::from_jar(&session.jar);
        if !cookies.is_empty() {
            self.call("Network.setCookies", json!({ "cookies": cookies })).await?;
        }
        Ok(())
    }

    /// Puts a page, a frame or a worker under our rules. Not all of them know all of these.
    async fn rule(&mut self, session: String) {
        let orders = [
            ("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*" }], "handleAuthRequests": true })),
            ("Network.enable", json!({})),
            ("Network.setBypassServiceWorker", json!({ "bypass": true })),
            ("Network.setUserAgentOverride", json!({ "userAgent": self.agent, "acceptLanguage": "en" })),
            ("Target.setAutoAttach", auto_attach()),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ];
        for (method, params) in orders {
            self.tell(Some(session.clone()), method, params).await;
        }
    }

    pub(super) async fn hear_of_target(&mut self, method: &str, params: &Value, session: Option<String>) {
        let ours = self.traffic.frame.clone();
        match method {
            "Target.attachedToTarget" => {
                let (kind, target) = (&params["targetInfo"]["type"], &params["targetInfo"]["targetId"]);
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                if *kind != "page" {
                    self.rule(session).await;
                } else if self.page.is_empty() {
                    self.page = session.clone();
                    self.traffic.frame = target.as_str().unwrap_or_default().to_owned();
                    self.rule(session).await;
                } else if *target != ours.as_str() {
                    self.traffic.note("a window that the page opened was closed");
                    self.tell(None, "Target.closeTarget", json!({ "targetId": target })).await;
                }
            }
            "Target.targetCrashed" if params["targetId"] == ours.as_str() => {
                let url = self.traffic.url();
                let is_memory = params["status"] == "oom";
                self.crashed =
                    Some(if is_memory { SessionError::PageMemory(url) } else { SessionError::PageCrashed(url) });
            }
            "Inspector.targetCrashed" if session.as_ref() == Some(&self.page) => {
                self.crashed.get_or_insert(SessionError::PageCrashed(self.traffic.url()));
            }
            _ => {}
        }
    }
}

/// Whatever opens waits until it is under our rules. The browser's own windows and bars are none of our business.
fn auto_attach() -> Value {
    let but = |kind: &str| json!({ "type": kind, "exclude": true });
    let filter = json!([but("browser"), but("browser_ui"), but("tab"), {}]);
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter })
}
