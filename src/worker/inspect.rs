//! Answers the questions of a labelling session about a stored page. Runs in the same sandbox as a run and sends no
//! requests.

use crate::labelling::page;
use crate::labelling::page::{LabellingAnswer, LabellingQuestion, LabellingRequest, PageLabeller};
use crate::protocol::{MAX_FRAME, Message};

use super::report_with;

/// Maximum decompressed size of a stored page, which was within the task's limit when it was fetched.
pub(super) const MAX_UNPACKED: usize = 64 << 20;
/// A larger page does not fit into one frame together with the answer.
pub(super) const MAX_BODY: usize = MAX_FRAME / 2;

/// Room for the message around the answer.
const FRAME_OVERHEAD: usize = 1 << 10;

/// Sends the answer with its raw bytes to the parent.
pub fn run(question: LabellingRequest, packed: &[u8]) {
    let (answer, raw) = answer(question, packed);
    report_with(&Message::Inspected { answer }, &raw);
}

fn answer(question: LabellingRequest, packed: &[u8]) -> (LabellingAnswer, Vec<u8>) {
    let Ok(body) = zstd::bulk::decompress(packed, MAX_UNPACKED) else {
        return (LabellingAnswer::Refused("The stored page is damaged. Run the task again.".to_owned()), Vec::new());
    };
    if matches!(question.ask, LabellingQuestion::Take(..)) && body.len() > MAX_BODY {
        let sentence = "The page is too large for the dashboard. Use `pieme label` in a terminal.";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    let (answer, raw) = page::answer(PageLabeller::new(question.known, body), &question.ask);
    let json = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
    if json.saturating_add(raw.len()) > MAX_FRAME - FRAME_OVERHEAD {
        let sentence = "The list is too long for the dashboard. Use `pieme label` in a terminal.";
        return (LabellingAnswer::Refused(sentence.to_owned()), Vec::new());
    }
    (answer, raw)
}
