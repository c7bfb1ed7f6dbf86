//! The small defects that the fault catalogue plants into reference peers; each is looked at where it acts.

use crate::tamper::Tamper;

/// One defect of a peer. [`Defect::None`] is a right peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Defect {
    /// None: a reference peer.
    #[default]
    None,
    /// Writes some of its frames wrongly.
    Writes(Tamper),
    /// Answers `notifications/initialized` with a result.
    AnswersNotification,
    /// Gives every second request the id of the one before.
    ReusesId,
    /// Raises its id counter when a request is sent, not when its id is taken.
    RaisesIdLate,
    /// Sends the answer to a tool call twice.
    AnswersTwice,
    /// Answers under the id of the request that arrived last.
    AnswersUnderLastId,
    /// Turns a number id into a string in its answers.
    EchoesIdAsText,
    /// Passes ids through a double.
    IdThroughDouble,
    /// Takes a request with id 0 for a notification.
    IdZeroIsNone,
    /// Puts both result and error into a tool's failure.
    ResultAndError,
    /// Never answers a request of the other side.
    IgnoresRequests,
    /// Reads nothing more while its own nested request is open.
    SerialDispatcher,
    /// Asks for sampling whatever the client declared.
    AsksUndeclaredSampling,
    /// Sends `tools/list` together with `initialize`.
    ListsTooEarly,
    /// Cancels `initialize` when its answer takes too long.
    CancelsInitialize,
    /// Compares the id in a cancellation as text, so that 2 and "2" are one.
    CancelsByText,
    /// Answers a cancelled request that it has answered already, with an error.
    ErrorAfterCancel,
    /// Lists its own request only after it was sent, and drops an answer that comes before.
    ListsRequestLate,
    /// Lets a progress report and the answer race.
    ProgressRacesAnswer,
    /// Ends its program when a top-level array arrives.
    DiesOnBatch,
    /// A gateway that keeps the requests to all its servers in one table by id.
    OneTableForAllServers,
    /// A gateway that forwards requests under the client's own id.
    ForwardsIds,
    /// A gateway that forwards a cancellation with the client's id.
    ForwardsCancelId,
    /// A gateway that forwards progress with its own token.
    ForwardsProgressToken,
    /// Never sends `notifications/initialized`.
    SkipsInitialized,
    /// Sends `notifications/initialized` together with `initialize`.
    InitializedTooEarly,
    /// Asks the client before `notifications/initialized` has arrived.
    AsksTooEarly,
    /// Sends answers to the client that spoke last.
    AnswersLastClient,
    /// Reports progress under the request's id when it was given no token.
    ProgressWithoutToken,
    /// Reports the same progress twice.
    ProgressRepeats,
    /// Has lost what it kept for a stream when the client opens that again.
    ForgetsEvents,
    /// Takes hold of its server's stderr, and never reads it.
    LeavesStderr,
    /// Reads nothing while a frame of its own waits for room in a pipe.
    WritesBeforeReading,
    /// Replays also the progress that the client had before the stream broke.
    ReplaysAll,
    /// Leaves `jsonrpc` out of its errors and of the results of tools that failed.
    VersionTagMissing,
    /// Answers a cancellation that comes too late with an error that has no id.
    AnswersLateCancel,
    /// Leaves another call unanswered when one is cancelled: it stops its newest work.
    CancelsNewest,
    /// Writes log messages of every level, whatever level was set.
    LogsAnyLevel,
    /// Writes log messages to requests that want none.
    LogsUnasked,
    /// Writes a log message about what it cannot read, whether it declared logging or not.
    LogsBadInput,
    /// Tells clients of changes that they did not subscribe to.
    TellsAll,
    /// Tells clients of changes of lists that it did not declare.
    TellsUndeclared,
    /// Answers `notifications/roots/list_changed` with an error.
    AnswersRootsChanged,
    /// Answers `notifications/initialized` under an id of its own making.
    AnswersUnderOwnId,
    /// Answers what it cannot read under the id of the request before.
    AnswersBadInputUnderLastId,
    /// Ends its program when it meets an id that is a string.
    DiesOnTextId,
    /// Ends its program when the first request is not `initialize`.
    DiesOnProbe,
    /// Ends its program when it meets what is no JSON.
    DiesOnGarbage,
    /// Reads nothing more once it has met what is no JSON.
    DeafAfterGarbage,
    /// Ends its program when a second client comes.
    DiesOnSecondClient,
    /// Ends its program when a call comes while another is open.
    DiesOnSecondCall,
    /// Takes whatever comes next for the answer to its oldest request.
    TakesAnyFrame,
    /// Gives the id of a cancelled request to the next one.
    FreesCancelledId,
    /// Drops arrays where the revision has them.
    IgnoresBatch,
    /// Never acknowledges a subscription, and sends nothing on it.
    IgnoresListen,
    /// Sends requests of its own where the revision has none.
    AsksOutright,
    /// Makes a call a task for a client that does not know tasks.
    MakesTasksUnasked,
    /// Gives a task's result before the task is done.
    AnswersTaskEarly,
    /// Goes on with a task that was cancelled.
    GoesOnWhenCancelled,
}
