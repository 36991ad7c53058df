//! robots.txt (RFC 9309): which paths a site allows robots; fetched once for each origin and cached for a day.

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use texting_robots::Robot;
use url::Url;

use crate::model::RobotsTxt;
use crate::model::address::origin;
use crate::robot::error::SessionError;

/// RFC 9309, section 2.3.1.2.
pub const MAX_REDIRECTS: u32 = 5;
/// RFC 9309, section 2.4: an older one should not be used.
const MAX_ROBOTS_AGE: TimeDelta = TimeDelta::hours(24);
/// Some files ask for an hour between two requests, and mean other robots.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(60);
/// The guard allows few hosts, but a host has many ports.
const MAX_ORIGINS: usize = 100;

/// Every rule with a wildcard becomes a regular expression: 500 kB of short ones, 17,600 rules, took 15 s to parse in a
/// debug build on a busy machine, 2,000 of them 1.1 s. Real files have some hundred.
const MAX_LINES: usize = 2_000;

/// The rules of one origin.
pub struct RobotsRules {
    policy: RobotsPolicy,
    /// The pause between two requests that the site asks for.
    crawl_delay: Duration,
}

enum RobotsPolicy {
    Parsed {
        robot: Robot,
        text: String,
    },
    /// It could not be fetched because of the site; until it can, everything is disallowed.
    Unavailable {
        status: u16,
    },
}

/// The rules of the origins that a run has met.
pub struct RobotsCache {
    /// Our product token.
    name: String,
    rules: HashMap<String, RobotsRules>,
}

impl RobotsCache {
    pub fn new(user_agent: &str) -> RobotsCache {
        RobotsCache { name: product_token(user_agent), rules: HashMap::new() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn contains(&self, origin: &str) -> bool {
        self.rules.contains_key(origin)
    }

    pub fn insert(&mut self, origin: String, rules: RobotsRules) {
        if self.rules.len() >= MAX_ORIGINS {
            self.rules.clear();
        }
        self.rules.insert(origin, rules);
    }

    /// Fails if the rules of its origin disallow this URL.
    pub fn check(&self, url: &Url) -> Result<(), SessionError> {
        let origin = origin(url);
        match self.rules.get(&*origin).and_then(|rules| rules.forbidding_rule(&self.name, url)) {
            None => Ok(()),
            Some(rule) => {
                Err(SessionError::RobotsTxt { origin: origin.into_owned(), path: url.path().to_owned(), rule })
            }
        }
    }

    pub fn crawl_delay(&self, url: &Url) -> Duration {
        self.rules.get(&*origin(url)).map_or(Duration::ZERO, |rules| rules.crawl_delay)
    }
}

/// Whether a cached robots.txt may still be used.
pub fn is_fresh(robots: &RobotsTxt, now: DateTime<Utc>) -> bool {
    now - robots.fetched_at < MAX_ROBOTS_AGE
}

impl RobotsRules {
    /// It could not be fetched because of the site.
    pub fn unavailable(status: u16) -> RobotsRules {
        RobotsRules { policy: RobotsPolicy::Unavailable { status }, crawl_delay: Duration::ZERO }
    }

    pub fn parse(name: &str, text: &str) -> RobotsRules {
        let says_something = |line: &&str| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        };
        let text: String = text.lines().filter(says_something).take(MAX_LINES).flat_map(|line| [line, "\n"]).collect();
        let robot = Robot::new(name, text.as_bytes()).or_else(|_| {
            // A rule with too many wildcards to compile does not void the others.
            let is_good = |line: &&str| Robot::new(name, line.as_bytes()).is_ok();
            let good: String = text.lines().filter(is_good).flat_map(|line| [line, "\n"]).collect();
            Robot::new(name, good.as_bytes())
        });
        // A file that is not a robots.txt disallows nothing.
        let robot = robot.unwrap_or_else(|_| Robot::new(name, b"").expect("an empty robots.txt"));
        let wanted = robot.delay.filter(|delay| delay.is_finite() && *delay > 0.0).unwrap_or(0.0);
        let delay = Duration::from_secs_f32(wanted.min(MAX_CRAWL_DELAY.as_secs_f32()));
        RobotsRules { policy: RobotsPolicy::Parsed { robot, text }, crawl_delay: delay }
    }

    /// The rule that disallows the URL.
    fn forbidding_rule(&self, name: &str, url: &Url) -> Option<String> {
        match &self.policy {
            RobotsPolicy::Unavailable { status } => {
                Some(format!("it answered with status {status}; until it can be read, the whole site is disallowed"))
            }
            RobotsPolicy::Parsed { text, .. } if text.is_empty() => None,
            RobotsPolicy::Parsed { robot, .. } if robot.allowed(url.as_str()) => None,
            RobotsPolicy::Parsed { text, .. } => Some(format!("“{}”", forbidding_line(name, text, url))),
        }
    }
}

/// The line that disallows the URL: the longest of those that would do so alone.
fn forbidding_line(name: &str, text: &str, url: &Url) -> String {
    const MAX_CHARS: usize = 200;
    let forbids = |line: &&str| {
        let is_rule = line.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("disallow:"));
        is_rule && Robot::new(name, line.as_bytes()).is_ok_and(|robot| !robot.allowed(url.as_str()))
    };
    let line = text.lines().map(str::trim).filter(forbids).max_by_key(|line| line.len());
    line.unwrap_or("Disallow").chars().take(MAX_CHARS).collect()
}

/// The product token by which robots.txt files name a robot: the first word of its `User-Agent`, without version.
fn product_token(user_agent: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_');
    let word: String = user_agent.chars().take_while(|c| is_word(*c)).collect();
    if word.is_empty() { "*".to_owned() } else { word.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn objection(text: &str, path: &str) -> Option<String> {
        let url = Url::parse("https://shop.test").and_then(|it| it.join(path)).expect("a URL of the test");
        RobotsRules::parse("pieme", text).forbidding_rule("pieme", &url)
    }

    #[test]
    fn the_rule_that_forbids_is_named() {
        let text = "User-agent: *\nDisallow: /a\nDisallow: /a/b # not here\nAllow: /a/b/c\nDisallow: /*.pdf$\n";
        for (path, rule) in [
            ("/", None),
            ("/a/x", Some("“Disallow: /a”")),
            ("/a/b/x", Some("“Disallow: /a/b # not here”")),
            ("/a/b/c", None),
            ("/x/y.pdf", Some("“Disallow: /*.pdf$”")),
            ("/robots.txt", None),
        ] {
            assert_eq!(objection(text, path).as_deref(), rule, "{path}");
        }
        assert_eq!(objection("User-agent: pieme\nDisallow:\nUser-agent: *\nDisallow: /", "/a"), None);
        assert!(objection("User-agent: Pieme\nDisallow: /\n", "/a").is_some());
        for odd in ["", "<!DOCTYPE html><title>Home</title>", "\0\u{1}\u{feff}Disallow", "Disallow: /\\[(*"] {
            assert_eq!(objection(odd, "/a"), None, "{odd:?}");
        }
    }

    #[test]
    fn a_rule_that_is_too_much_does_not_void_the_others() {
        let text = format!("User-agent: *\nDisallow: /{}$\nDisallow: /staff/\n", "*a".repeat(120));
        assert_eq!(objection(&text, "/staff/1").as_deref(), Some("“Disallow: /staff/”"));
        assert_eq!(objection(&text, "/shop"), None);
    }

    #[test]
    fn a_wish_for_delay_is_capped_and_nonsense_is_none() {
        for (text, seconds) in
            [("5", 5.0), ("0.5", 0.5), ("999999", 60.0), ("-3", 0.0), ("NaN", 0.0), ("inf", 0.0), ("soon", 0.0)]
        {
            let rules = RobotsRules::parse("pieme", &format!("User-agent: *\nCrawl-delay: {text}\n"));
            assert_eq!(rules.crawl_delay, Duration::from_secs_f32(seconds), "{text}");
        }
    }

    #[test]
    fn a_robots_txt_of_half_a_megabyte_is_read_in_time() {
        let many = "Disallow: /*a*b*c*d*e*f*g*h$\n".repeat(RobotsTxt::MAX_BYTES / 29);
        let long = format!("Disallow: /{}x", "*a".repeat(RobotsTxt::MAX_BYTES / 2));
        let started = Instant::now();
        for text in [many, long, "\n".repeat(RobotsTxt::MAX_BYTES), "a".repeat(RobotsTxt::MAX_BYTES)] {
            objection(&format!("User-agent: *\n{text}"), "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }

    #[test]
    fn a_robot_is_known_by_its_first_word() {
        for (agent, word) in
            [("pieme/0.1.0", "pieme"), ("Mozilla/5.0 (X11)", "mozilla"), ("Acme-Bot", "acme-bot"), ("", "*")]
        {
            assert_eq!(product_token(agent), word);
        }
    }
}
