import { MessageRefusedError } from 'nestjs-durable-saga';
import type { Clock } from 'nestjs-durable-saga/internal';
import type { MessageTransport, RelayedMessage } from './message-transport.js';

/** What became of some messages. */
export interface SendReport<M> {
  readonly sent: M[];
  readonly failed: Failure<M>[];
  /** Not sent, since one before them with their topic and key failed. */
  readonly behind: M[];
  /** Not sent, since there was no time left. */
  readonly left: M[];
}

export interface Failure<M> {
  readonly message: M;
  readonly error: Error;
  /** The broker does not want this message; it is not the broker that is in trouble. */
  readonly refused: boolean;
}

export interface SendOptions {
  readonly transport: MessageTransport;
  /** Milliseconds that the broker may take for a message. */
  readonly timeout: number;
  readonly clock: Clock;
  /** Watches the outcomes of all messages that this process sends. */
  readonly watch: BrokerWatch;
  /**
   * May another one be sent?
   * @param share of the keys, those that are not through yet
   */
  readonly goesOn: (share: number) => boolean;
}

/** The outcome is unknown: a broker that hangs is in trouble, whatever else it accepted. */
class SendTimeoutError extends Error {}

/**
 * Sends messages, each after the one before it with its topic and key was taken, and all keys side by side. Only one of
 * a key is in progress at a time: with several, a later one could be taken where an earlier one is refused.
 */
export async function sendInOrder<M extends RelayedMessage>(
  messages: readonly M[],
  options: SendOptions,
): Promise<SendReport<M>> {
  const { watch } = options;
  const report: SendReport<M> = { sent: [], failed: [], behind: [], left: [] };
  const failures: { message: M; error: Error; suspect?: SuspectFailure }[] = [];
  const fail = (message: M, error: Error): void => {
    if (isRefusal(error)) {
      watch.answered();
      failures.push({ message, error });
    } else failures.push({ message, error, suspect: watch.failed() });
  };
  const lines = linesOf(messages);
  let open = lines.size;
  const sendLine = async (line: readonly M[]): Promise<void> => {
    for (const [n, message] of line.entries()) {
      if (!options.goesOn(open / lines.size)) return void report.left.push(...line.slice(n));
      try {
        await inTime(message, options);
      } catch (error) {
        fail(message, asError(error));
        return void report.behind.push(...line.slice(n + 1));
      }
      watch.answered();
      report.sent.push(message);
    }
  };
  await Promise.all([...lines.values()].map((line) => sendLine(line).finally(() => (open -= 1))));
  for (const { message, error, suspect } of failures) {
    const refused = !suspect || (suspect.isTheMessages && !(error instanceof SendTimeoutError));
    report.failed.push({ message, error, refused });
  }
  return report;
}

function linesOf<M extends RelayedMessage>(messages: readonly M[]): Map<string, M[]> {
  const lines = new Map<string, M[]>();
  for (const message of messages) {
    // NUL is in neither.
    const name = `${message.topic}\0${message.key}`;
    const line = lines.get(name);
    if (line) line.push(message);
    else lines.set(name, [message]);
  }
  return lines;
}

function inTime(message: RelayedMessage, { transport, timeout, clock }: SendOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(timeout, () =>
      reject(new SendTimeoutError(`The broker did not confirm the message within ${timeout} ms`)),
    );
    const settle = (end: () => void) => {
      clock.cancel(timer);
      end();
    };
    // A transport may also throw at once.
    new Promise<void>((sent) => sent(transport.send(message))).then(
      () => settle(resolve),
      (error: unknown) => settle(() => reject(asError(error))),
    );
  });
}

/** By its code, since it may come from another copy of this package. */
function isRefusal(error: Error): boolean {
  return (
    error instanceof MessageRefusedError || (error as { code?: unknown }).code === 'SAGA_MESSAGE_REFUSED'
  );
}

/** Nest's clients reject with strings as well. */
function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Milliseconds: no client connects again so soon, so that a broker that answers by then was never away. */
const SOON = 1_000;

/** A send that failed, and whether it turned out to be the message's own failure. */
export interface SuspectFailure {
  isTheMessages: boolean;
}

/**
 * Distinguishes messages that cannot be sent from a broker that is down. A failure is the message's own if the broker
 * accepts others right after it, and none of them failed with it. What fails together is an outage.
 */
export class BrokerWatch {
  private since: { readonly failure: SuspectFailure; readonly at: number }[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The broker took a message, or refused one: it is there. */
  answered(): void {
    const [only, ...others] = this.since;
    if (only && others.length === 0 && this.now() - only.at < SOON) only.failure.isTheMessages = true;
    if (only) this.since = [];
  }

  failed(): SuspectFailure {
    const failure: SuspectFailure = { isTheMessages: false };
    this.since.push({ failure, at: this.now() });
    return failure;
  }
}
