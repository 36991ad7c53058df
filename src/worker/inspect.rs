//! Answers the questions of a labelling session about a stored page. Runs in the same sandbox as a run and sends no
//! requests.

use crate::labelling::page;
use crate::labelling::page::{LabellingAnswer, LabellingQuestion, LabellingRefusal, PageLabeller};
use crate::protocol::bounds::{MAX_PAGE_BYTES, MAX_SENTENCE_BYTES, cut};
use crate::protocol::{FrameKind, InspectAnswer, InspectJob, budgets};

/// Maximum decompressed size of a stored page, which was within the task's limit when it was fetched.
pub(super) const MAX_UNPACKED: usize = 64 << 20;

type AnswerPart = (InspectAnswer, Vec<u8>);

/// The answers with their raw bytes.
pub fn answer(job: InspectJob, packed: &[u8]) -> Vec<AnswerPart> {
    let in_parts = job.in_parts;
    let Ok(body) = zstd::bulk::decompress(packed, MAX_UNPACKED) else {
        return refused("The stored page is damaged. Run the task again.");
    };
    if matches!(job.request.ask, LabellingQuestion::Take(..)) && body.len() > MAX_PAGE_BYTES && !in_parts {
        return refused("The page is too large for the dashboard. Use `pieme label` in a terminal.");
    }
    let answers = page::answer(PageLabeller::new(job.request.known, body), &job.request.ask);
    let parts: Vec<AnswerPart> = answers.into_iter().flat_map(|(answer, raw)| parts(answer, raw, in_parts)).collect();
    let fits = |(answer, raw): &AnswerPart| {
        serde_json::to_vec(answer).is_ok_and(|json| budgets::fits(FrameKind::Inspection, &json, raw.len()))
    };
    match parts.iter().all(fits) {
        false if in_parts => refused("The list is too long: its rows have more than 8 MB of text, or too many cells."),
        false => refused("The list is too long for the dashboard. Use `pieme label` in a terminal."),
        true => parts,
    }
}

/// An accepted list with its page: the page goes in messages of its own where the parent takes several.
fn parts(answer: LabellingAnswer, raw: Vec<u8>, in_parts: bool) -> Vec<AnswerPart> {
    match answer {
        LabellingAnswer::Refused(LabellingRefusal { fault, sentence }) => {
            let sentence = cut(sentence, MAX_SENTENCE_BYTES);
            vec![(InspectAnswer(LabellingAnswer::Refused(LabellingRefusal { fault, sentence })), raw)]
        }
        taken @ LabellingAnswer::Taken(_) if in_parts => {
            let mut chunks = raw.chunks(MAX_PAGE_BYTES).peekable();
            let mut parts = vec![(InspectAnswer(taken), Vec::new())];
            while let Some(part) = chunks.next() {
                let is_last = chunks.peek().is_none();
                parts.push((InspectAnswer(LabellingAnswer::More { is_last }), part.to_vec()));
            }
            parts
        }
        answer => vec![(InspectAnswer(answer), raw)],
    }
}

fn refused(sentence: &str) -> Vec<AnswerPart> {
    vec![(InspectAnswer(LabellingRefusal::of_page(sentence)), Vec::new())]
}
