import { SagaStateError } from 'nestjs-durable-saga/internal';
import { operatorOf } from '../operator.js';
import type { Terminal } from '../terminal.js';
import type { MemorySession, SagaQuestion } from './memory-session.js';
import { UsageError } from '../command.js';

/** What is given in advance for what a saga waits for. */
export interface GivenAnswers {
  /** Steps to approve. */
  readonly approve: readonly string[];
  /** Steps to reject. */
  readonly reject: readonly string[];
  /** Payloads of signals, by name. */
  readonly signals: ReadonlyMap<string, unknown>;
}

/** Answers what a saga waits for: from what was given, or by asking the user in front of a terminal. */
export class Answers {
  constructor(
    private readonly session: MemorySession,
    private readonly given: GivenAnswers,
    private readonly terminal: Terminal,
    /** Ctrl-C at a question. */
    private readonly interrupted: () => Promise<void>,
  ) {}

  /** @returns whether the user was asked, which leaves lines in the terminal */
  async answer(id: string): Promise<boolean> {
    let asked = false;
    for (const question of await this.session.questionsOf(id)) {
      if (await this.answerAsGiven(question)) continue;
      if (!this.terminal.interactive) continue;
      asked = true;
      await this.ask(question);
    }
    return asked;
  }

  private async answerAsGiven({ id, kind, name }: SagaQuestion): Promise<boolean> {
    const { approve, reject, signals } = this.given;
    if (kind === 'signal') {
      if (!signals.has(name)) return false;
      await this.session.sagas.signal(id, name, signals.get(name));
    } else if (approve.includes(name)) await this.decide(id, name, true);
    else if (reject.includes(name)) await this.decide(id, name, false);
    else return false;
    return true;
  }

  private async ask({ id, kind, name }: SagaQuestion): Promise<void> {
    const { terminal } = this;
    try {
      if (kind === 'approval') {
        const answer = (await terminal.ask(`Approve step '${name}'? [y/n] `)).trim();
        if (/^y(es)?$/i.test(answer)) await this.decide(id, name, true);
        else if (/^no?$/i.test(answer)) await this.decide(id, name, false);
      } else {
        const text = (
          await terminal.ask(`Payload of the signal '${name}', as JSON (empty for none): `)
        ).trim();
        await this.session.sagas.signal(id, name, text === '' ? undefined : payloadOf(text));
      }
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ABORT_ERR') return this.interrupted();
      // Its time may be over, or the answer is invalid: the question is asked again if it is still open.
      if (!(error instanceof SagaStateError || error instanceof UsageError)) throw error;
      terminal.error(error.message);
    }
  }

  private async decide(id: string, step: string, isApproved: boolean): Promise<void> {
    const by = operatorOf(this.terminal);
    await this.session.sagas[isApproved ? 'approve' : 'reject'](id, step, { by });
  }
}

function payloadOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new UsageError(`The payload is not JSON: ${(error as Error).message}`);
  }
}
