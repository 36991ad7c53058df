//! `[ceiling]` of config.toml bounds the `[limits]` of every task.

use super::super::stage::Stage;

fn stage_with(limits: &str, ceiling: &str) -> Stage {
    let stage = Stage::new();
    stage.write_task("shop", "/products", &format!("[limits]\n{limits}\n"));
    if !ceiling.is_empty() {
        stage.write("config.toml", &format!("{}\n[ceiling]\n{ceiling}\n", stage.read("config.toml")));
    }
    stage
}

#[test]
fn a_task_over_the_ceiling_ends_as_config_with_both_values_and_what_to_change() {
    for (limits, ceiling, message, hint) in [
        (
            "memory = \"64G\"",
            "",
            "`limits.memory` is 64G, and config.toml allows at most 2G",
            "write `memory = \"2G\"` or less under [limits], or raise `memory` under [ceiling] in config.toml",
        ),
        (
            "timeout = \"3h\"",
            "",
            "`limits.timeout` is 3h, and config.toml allows at most 2h",
            "write `timeout = \"2h\"` or less under [limits], or raise `timeout` under [ceiling] in config.toml",
        ),
        (
            "memory = \"200M\"\ntimeout = \"1m\"",
            "memory = \"100M\"",
            "`limits.memory` is 200M, and config.toml allows at most 100M",
            "raise `memory` under [ceiling] in config.toml",
        ),
    ] {
        let stage = stage_with(limits, ceiling);
        let said = stage.pieme(&["run", "shop"]);
        assert_eq!(said.code, 78, "{limits}: {}{}", said.stdout, said.stderr);
        assert!(said.stdout.contains("failed (config)"), "{}", said.stdout);
        let validated = stage.pieme(&["validate", "shop"]);
        assert_eq!(validated.code, 78, "{limits}: {}", validated.stdout);
        for text in [&said.stdout, &validated.stdout] {
            assert!(text.contains("task.toml:3:") && text.contains(message) && text.contains(hint), "{text}");
        }
        assert_eq!(stage.site.requests(), 0, "nothing was fetched");
    }
}

#[test]
fn a_task_under_the_ceiling_runs_and_a_raised_ceiling_takes_effect_without_a_restart() {
    let mut stage = stage_with("memory = \"3G\"\ntimeout = \"2h\"", "");
    stage.start_daemon();
    stage.wait_for("the first run", || !stage.status("shop")["last_run"].is_null());
    assert_eq!(stage.pieme(&["run", "shop"]).code, 78, "3G are over the default ceiling");
    stage.write("config.toml", &format!("{}\n[ceiling]\nmemory = \"3G\"\n", stage.read("config.toml")));
    let said = stage.pieme(&["run", "shop"]);
    assert_eq!(said.code, 3, "it waits for a label: {}{}", said.stdout, said.stderr);
    stage.write_task("shop", "/products", "");
    assert_eq!(stage.pieme(&["run", "shop"]).code, 3, "and so does a task without limits");
}

#[test]
fn a_ceiling_below_the_defaults_lowers_them_for_a_task_without_limits() {
    let mut stage = stage_with("max_pages = 1", "memory = \"200M\"\ntimeout = \"1m\"");
    assert_eq!(stage.pieme(&["validate", "shop"]).code, 0);
    assert_eq!(stage.pieme(&["run", "shop"]).code, 3, "it waits for a label");
    // A run is as long as the ceiling says, and its sentence says so.
    stage.write("config.toml", &stage.read("config.toml").replace("\"1m\"", "\"2s\""));
    stage.write_task("slow", "/bad/slow", "");
    stage.start_daemon();
    let verdict = stage.pieme(&["run", "slow", "--json"]).json();
    assert_eq!(verdict["cause"], "timeout", "{verdict}");
    stage.write_task("large", "/products", "[limits]\nmemory = \"300M\"");
    stage.wait_for("the task", || stage.state("large") != "absent");
    assert_eq!(stage.pieme(&["run", "large"]).code, 78, "who asks for more is still told");
}
