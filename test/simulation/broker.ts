import { MessageRefusedError } from '../../libs/saga/src/errors.js';
import type { MessageTransport, RelayedMessage } from '../../libs/messaging/src/relay/message-transport.js';
import type { Rng, Dice } from './rng.js';
import type { DeliveryChecker } from './delivery-checker.js';
import type { MessagePlan } from './message-plan.js';
import type { MessageHost } from './message-host.js';
import type { Timeline } from './timeline.js';
import type { InvariantChecker } from './invariant-checker.js';

/** Milliseconds on a network that is well. */
const TRAVEL = [0.2, 20] as const;
/** An unconfirmed message arrives at most this much later (ms). */
const LATEST = 20_000;
/** An unacknowledged message is delivered again after this time (ms). */
const AGAIN = 3_000;

/**
 * A broker that loses, hangs, refuses and delivers twice; it keeps accepted messages until a handler
 * acknowledges them.
 */
export class Broker {
  /** Messages that it refuses until an operator has sent them again. */
  private readonly cured = new Set<string>();
  private readonly refusals = new Map<string, number>();
  private readonly kept = new Set<string>();
  private isWell = false;
  private readonly dice: Dice;

  constructor(
    private readonly timeline: Timeline,
    private readonly chance: Rng,
    private readonly plan: MessagePlan['broker'],
    private readonly checker: InvariantChecker,
    private readonly deliveries: DeliveryChecker,
    /** Gives it to a handler; resolves once that has handled it. */
    private readonly handle: (message: RelayedMessage) => Promise<void>,
  ) {
    this.dice = chance.for('broker');
  }

  calmDown(): void {
    this.isWell = true;
  }

  /** The broker no longer refuses this message. */
  cure(id: string): void {
    this.cured.add(id);
  }

  transport({ life, call }: MessageHost): MessageTransport {
    const { timeline, dice } = this;
    const send = (message: RelayedMessage) =>
      new Promise<void>((resolve, reject) => {
        if (!call()) return;
        const [there, back] = [dice.long(...TRAVEL), dice.long(...TRAVEL)];
        const answer = (say: () => void) => void timeline.after(back, say, life);
        const how = this.isWell ? 'taken' : this.scriptedOutcome(message);
        const lost = () => answer(() => reject(new Error('The broker’s connection broke')));
        if (how === 'hangs') return void timeline.after(dice.long(there, LATEST), () => this.take(message));
        timeline.after(there, () => {
          if (this.isDown || how === 'lost') return lost();
          const refused = this.refuses(message.id);
          if (refused) return answer(() => reject(refused));
          this.take(message);
          if (how === 'unconfirmed') lost();
          else answer(resolve);
        });
      });
    return { send };
  }

  private scriptedOutcome({ id }: RelayedMessage): 'taken' | 'lost' | 'unconfirmed' | 'hangs' {
    const { lost, unconfirmed, hanging } = this.plan;
    // A part of the messages; of each, every sending but some.
    if (this.chance.for('hangs', id).happens(hanging) && this.dice.happens(0.5)) return 'hangs';
    if (this.dice.happens(lost)) return 'lost';
    return this.dice.happens(unconfirmed) ? 'unconfirmed' : 'taken';
  }

  private get isDown(): boolean {
    const { now } = this.timeline;
    return this.plan.outages.some(([from, to]) => now >= from && now < to);
  }

  private refuses(id: string): Error | undefined {
    const of = this.chance.for('refused', id);
    const isPoison = of.happens(this.plan.poisonous) && !this.cured.has(id);
    const count = (this.refusals.get(id) ?? 0) + 1;
    const isTemporary = !this.isWell && of.happens(this.plan.refused) && count <= 2;
    if (!isPoison && !isTemporary) return undefined;
    this.refusals.set(id, count);
    return new MessageRefusedError(`${id} is refused`);
  }

  private take(message: RelayedMessage): void {
    this.checker.note(() => `the broker takes ${message.id}`);
    this.deliveries.arrives(message.id);
    this.deliver(message);
    if (this.dice.happens(this.plan.twice))
      this.timeline.after(this.dice.long(0, AGAIN), () => this.deliver(message));
  }

  /** Again and again, until it is handled. */
  private deliver(message: RelayedMessage): void {
    const { id } = message;
    this.kept.add(id);
    this.timeline.after(this.dice.long(...TRAVEL), () => {
      let isOver = false;
      const again = () => {
        if (isOver) return;
        isOver = true;
        if (this.kept.has(id)) this.deliver(message);
      };
      this.timeline.after(AGAIN, again);
      this.handle(message).then(
        () => {
          isOver = true;
          this.kept.delete(id);
        },
        () => undefined,
      );
    });
  }
}
