//! Any bytes as what a child sends: read within its budgets and bounds, or refused with a sentence.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pieme::protocol::bounds::BoundedMessage;
use pieme::protocol::{Budget, InspectAnswer, MessageReader, RepairAnswer, RunMessage, StepMessage};
use pieme::tasks;
use serde::de::DeserializeOwned;

/// A sentence quotes little of what the child sent.
const MAX_SENTENCE: usize = 1_000;

fn read_all<M: BoundedMessage + DeserializeOwned>(pipe: &[u8], mut each: impl FnMut(M)) {
    let mut messages = MessageReader::<_, M>::new(pipe, Budget::new(M::kinds()));
    loop {
        match messages.next_message() {
            Ok(Some((message, raw))) => {
                assert!(raw.len() <= pipe.len());
                assert!(M::kinds().contains(&message.kind()));
                each(message);
            }
            Ok(None) => return,
            Err(error) => {
                let sentence = error.to_string();
                assert!(!sentence.is_empty() && sentence.len() < MAX_SENTENCE, "{sentence}");
                return;
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    read_all::<RunMessage>(bytes, |message| {
        if let RunMessage::Learned { template } = message
            && let Err(problem) = tasks::check_template(&template)
        {
            assert!(!problem.message.is_empty());
        }
    });
    read_all::<StepMessage>(bytes, drop);
    read_all::<RepairAnswer>(bytes, drop);
    read_all::<InspectAnswer>(bytes, drop);
});
