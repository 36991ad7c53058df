//! The assignment of extracts to records.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// The detail page of each extract's record.
    pub record_of: Vec<Option<usize>>,
    /// The column of each extract in its record; only from the probabilistic model.
    pub column_of: Vec<Option<usize>>,
    /// Whether no observation contradicts it.
    pub is_exact: bool,
}

impl Segmentation {
    /// The extracts of each record, records in the order of the list.
    pub fn records(&self) -> Vec<Vec<usize>> {
        let mut records: Vec<(usize, Vec<usize>)> = Vec::new();
        for (i, record) in self.record_of.iter().enumerate() {
            let Some(record) = *record else { continue };
            match records.last_mut() {
                Some((last, extracts)) if *last == record => extracts.push(i),
                _ => records.push((record, vec![i])),
            }
        }
        records.into_iter().map(|(_, extracts)| extracts).collect()
    }
}
