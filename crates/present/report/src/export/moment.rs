//! The moment that an export can be about.

/// A moment of the run at which the live blocks are known per call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moment {
    /// When the live bytes of all processes together were highest.
    #[default]
    Peak,
    /// When each process ended.
    Exit,
    /// When the recording ended: what the processes had that ran then, or else the last one to end.
    End,
}

impl Moment {
    pub const ALL: &[Self] = &[Self::Peak, Self::Exit, Self::End];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak",
            Self::Exit => "exit",
            Self::End => "end",
        }
    }

    /// What it is, in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::Peak => "when the live bytes of all processes together were highest",
            Self::Exit => "when each process ended",
            Self::End => "when the recording ended, of the processes that ran then or ended last",
        }
    }

    /// The moment of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|moment| moment.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_what_they_name() {
        assert!(Moment::ALL.iter().all(|m| Moment::of_name(m.name()) == Some(*m)));
    }
}
