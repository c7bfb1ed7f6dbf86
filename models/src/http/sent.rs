//! Requests that may be sent again, since their exchange failed or broke before the answer.

use mcpsim_traces::event::{FrameNo, Stream};
use mcpsim_traces::key::Key;

use crate::http::{Exchange, Exchanges, Scene};
use crate::observer::Seen;
use crate::part::{Part, open};

/// So many requests are remembered that may be sent again after their exchange failed.
const SENT_MAX: usize = 256;

/// A request that may come again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    id: Key,
    text: Key,
    stream: Stream,
    pub(crate) frame: FrameNo,
    fate: SentFate,
}

/// What became of the exchange of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentFate {
    Open,
    /// It was refused, or sent elsewhere, before anybody read it.
    Failed,
    /// It broke before the answer.
    Broke,
}

impl Exchanges {
    pub(super) fn remember(&mut self, id: Key, text: Key, seen: &Seen<'_>) {
        if self.sent.len() == SENT_MAX {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            id,
            text,
            stream: seen.stream,
            frame: seen.frame,
            fate: SentFate::Open,
        });
    }

    /// What becomes of the requests of an exchange that are not answered.
    pub(super) fn fail(&mut self, exchange: &Exchange, fate: SentFate) {
        let of_it =
            |sent: &&mut Sent| sent.stream == exchange.stream && exchange.asked.contains(&sent.id);
        for sent in self.sent.iter_mut().filter(of_it) {
            sent.fate = fate;
        }
    }

    /// A request that was sent before, in an exchange that failed.
    pub(super) fn comes_again(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: &Seen<'_>,
        text: Key,
    ) {
        let id = seen.message.id;
        let sent = self.sent.iter().rev().find(|sent| sent.id == id);
        let Some(sent) = sent.copied() else { return };
        let is_same = sent.text == text && text.is_present();
        match sent.fate {
            SentFate::Failed if is_same => self.forget(scene, id),
            SentFate::Broke if scene.server.find_in(id).is_ok() => {
                self.judge_sent_again(scene, exchange, &sent, seen, is_same);
            }
            _ => {}
        }
    }

    /// The request never came to be: its id is free.
    pub(crate) fn forget(&mut self, scene: &mut Scene<'_>, id: Key) {
        scene.client.unsend(id);
        scene.server.unreceive(id);
    }

    /// What the exchange carried is settled without an answer.
    pub(crate) fn settle(&mut self, scene: &mut Scene<'_>, exchange: &Exchange) {
        for &id in &exchange.asked {
            if let Ok(at) = scene.client.find_own(id) {
                scene.client.own[at].flags |= open::EXCUSED;
            }
        }
    }
}

impl Part {
    #[cold]
    fn unsend(&mut self, id: Key) {
        if let Ok(at) = self.find_own(id) {
            self.drop_own(at);
        }
        self.issued.remove(id);
        if let Some(rare) = &mut self.rare {
            rare.outside.remove(id);
        }
    }

    #[cold]
    fn unreceive(&mut self, id: Key) {
        if let Ok(at) = self.find_in(id) {
            self.drop_in(at);
            self.retire_tokens(id, false, (0, 0));
        }
    }
}
