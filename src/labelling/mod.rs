//! One labelling session, used by the terminal and the browser. [`page`] is pure: a page and what a person says of it become
//! lists to choose from. [`task`] reads the store and writes the task's folder.

pub mod page;
pub mod task;
