//! Any bytes as task.toml and robot.toml: read, or refused with a sentence.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::model::{Script, Task};
use pieme::tasks::TomlSource;

fuzz_target!(|bytes: &[u8]| {
    for name in ["task.toml", "robot.toml"] {
        let source = match TomlSource::new(name.into(), bytes.to_vec()) {
            Ok(source) => source,
            Err(problem) => {
                assert!(!problem.to_string().is_empty());
                continue;
            }
        };
        let read = match name {
            "task.toml" => source.parse::<Task>().map(drop),
            _ => source.parse::<Script>().map(drop),
        };
        if let Err(problem) = read {
            assert!(!problem.to_string().is_empty());
        }
    }
});
