//! The threads that are held before an event, for the policies that hold.
//!
//! A thread is held until its patience is used up by others, until the policy lets it go, or until no other thread
//! can run. It then executes its event without being asked again.

use untorn_trace::ids::ThreadId;

use super::Choice;
use crate::{Rng, Step};

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
enum Stance {
    #[default]
    Free,
    /// For so many more events or turns of others.
    Held(u64),
    /// It was held and continues with its event.
    LetGo,
}

#[derive(Debug, Default)]
pub(super) struct HeldThreads {
    stances: Vec<Stance>,
}

impl HeldThreads {
    fn stance(&mut self, thread: ThreadId) -> &mut Stance {
        if self.stances.len() <= thread.index() {
            self.stances.resize(thread.index() + 1, Stance::Free);
        }
        &mut self.stances[thread.index()]
    }

    pub(super) fn hold(&mut self, thread: ThreadId, patience: u64) {
        *self.stance(thread) = Stance::Held(patience);
    }

    /// The thread is before the event for which it was held: it may continue now.
    pub(super) fn goes_on(&mut self, thread: ThreadId) -> bool {
        let stance = self.stance(thread);
        let goes = *stance == Stance::LetGo;
        if goes {
            *stance = Stance::Free;
        }
        goes
    }

    /// Lets all threads go except `who`.
    pub(super) fn let_others_go(&mut self, who: ThreadId) {
        for (index, stance) in self.stances.iter_mut().enumerate() {
            if index != who.index() && matches!(stance, Stance::Held(_)) {
                *stance = Stance::LetGo;
            }
        }
    }

    /// A turn has ended: reduces the patience of all other threads.
    fn turn_ended(&mut self, step: Step) {
        for (index, stance) in self.stances.iter_mut().enumerate() {
            if let Stance::Held(left) = stance {
                if index != step.thread.index() {
                    *left = left.saturating_sub(step.events.max(1));
                }
                if *left == 0 {
                    *stance = Stance::LetGo;
                }
            }
        }
    }

    /// The candidates that are not held. If all are held, a random one is let go.
    pub(super) fn free(&mut self, choice: &Choice<'_>, rng: &mut Rng) -> Vec<ThreadId> {
        if let Some(last) = choice.last {
            self.turn_ended(last);
        }
        let is_held = |stance: &Stance| matches!(stance, Stance::Held(_));
        let mut free = choice.candidates.to_vec();
        free.retain(|&thread| !is_held(self.stance(thread)));
        if free.is_empty() {
            let one = choice.candidates[rng.below(choice.candidates.len() as u64) as usize];
            *self.stance(one) = Stance::LetGo;
            free.push(one);
        }
        free
    }
}
