//! The room as a whole: the corpus, its mutations, hostile texts, and the order of decision.

mod corpus;
mod hostile;
mod order;
