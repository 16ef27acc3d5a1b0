import type { EntityManager } from 'typeorm';
import type { SagaEngine } from '../../libs/saga/src/engine/saga-engine.js';
import { newSagaOf } from '../../libs/saga/src/engine/operate/new-saga.js';
import { sagaLabel } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { hasCodec } from './coded-database.js';
import { Database } from './database.js';
import { APPROVAL_PREFIX } from '../../libs/saga/src/definition/options/signal-name.js';
import { MessageWorld } from './message-world.js';
import { Operator } from './operator.js';
import { Participants } from './participants.js';
import type { Violation } from './promises.js';
import {
  type Fault,
  type OperatorCall,
  PIVOT_CALLS,
  processesOf,
  type Scenario,
  type Sending,
  type Start,
} from './scenario.js';
import { rests, waitingIn, whyItWaits } from './rest.js';
import { APPROVERS, HEARTBEATS, LIMIT_KEYS } from './random-saga.js';
import { Senders, signalOf } from './senders.js';
import { EPOCH } from './simulated-clock.js';
import { type ProcessWorld, SimulatedProcess } from './simulated-process.js';
import { TimeStandsStill, Timeline } from './timeline.js';
import { checkUnexplained } from './unexplained.js';
import { finalChecks } from './final-checks.js';
import { InvariantChecker } from './invariant-checker.js';
import { lockKeyNow, type Started } from './started.js';
import { Tenants } from './tenants.js';
import { StepPauser } from './step-pauses.js';
import { versionsIn } from './versions.js';

/**
 * Virtual milliseconds after everything is well again in which every saga has to come to rest, or name its
 * reason.
 */
const QUIET = 900_000;
/** A look at whether it has, so often (ms). */
const LOOK = 1_000;
/** The number of looks after which waiters must have their outcome. */
const PATIENCE = 10;

export interface Run {
  readonly violations: readonly Violation[];
  readonly sagas: number;
  /** Sagas that have not ended, each with the reason, which is an operator who has to act. */
  readonly waiting: readonly string[];
  /** What happened, one line each, if it was asked for. */
  readonly log: readonly string[];
  /** Virtual milliseconds. */
  readonly took: number;
}

/** Plays a scenario to its end, and says which promises were broken. */
export function simulate(scenario: Scenario, isLogging = false): Promise<Run> {
  return new Simulation(scenario, isLogging).run();
}

class Simulation {
  private readonly timeline = new Timeline();
  private readonly checker: InvariantChecker;
  private readonly database: Database;
  private readonly participants: Participants;
  private readonly processes: SimulatedProcess[];
  private readonly operator: Operator;
  private readonly senders: Senders;
  private readonly pauser: StepPauser;
  private readonly started: Started[] = [];
  private readonly messages: MessageWorld | undefined;
  private readonly tenants: Tenants;
  private isQuiet = false;
  private lastEnd = { resting: 0, at: 0 };
  /** Consecutive looks that found everything idle. */
  private restful = 0;
  /** Attempts of pivots so far. */
  private pivots = 0;

  constructor(
    private readonly scenario: Scenario,
    isLogging: boolean,
  ) {
    const { timeline } = this;
    this.tenants = new Tenants(scenario.chance, scenario.isLeftOut);
    timeline.bound = this.tenants.bound;
    const all = scenario.sagas.flatMap((saga) => versionsIn('both', saga));
    const graphs = new Map(all.map((graph) => [sagaLabel(graph), graph]));
    const isQuick = scenario.weather.delay[1] <= 20;
    this.checker = new InvariantChecker(timeline, graphs, isQuick, isLogging);
    if (!scenario.isLeftOut(PIVOT_CALLS)) this.checker.onPivot = (id) => this.cancelInPivot(id);
    this.database = new Database(timeline, this.checker, hasCodec(scenario.chance, scenario.isLeftOut));
    const { chance, messages: plan, weather, publishes } = scenario;
    const habits = {
      ...{ publishes, reports: !scenario.isLeftOut(HEARTBEATS) },
      isSlowOff: scenario.isLeftOut('weather slow participants'),
    };
    this.participants = new Participants(timeline, chance, weather, this.checker, habits);
    this.checker.effects = this.participants.effects;
    this.operator = new Operator(this.participants);
    this.senders = new Senders(timeline, this.checker, (n) => this.processes.at(n % this.processes.length)!);
    const hostOf = (n: number) => this.processes[n % this.processes.length]!.host;
    this.messages = plan && new MessageWorld(timeline, chance, plan, this.checker, hostOf);
    if (this.messages) this.database.publish = (messages) => this.messages!.checkpointed(messages);
    const startWithin = this.startWithin.bind(this);
    const world: ProcessWorld = {
      ...this,
      timeline,
      scenario,
      weather: scenario.weather,
      startWithin,
      ...this.parts(),
    };
    this.processes = Array.from(
      { length: processesOf(scenario) },
      (_, n) => new SimulatedProcess(world, n, n < scenario.workers),
    );
    this.pauser = new StepPauser(timeline, scenario, this.checker, this.database, this.processes);
  }

  private parts() {
    const { database, participants, checker, messages } = this;
    return { database, participants, checker, messages };
  }

  async run(): Promise<Run> {
    const { scenario, timeline } = this;
    for (const process of this.processes) process.start();
    for (const start of scenario.starts) timeline.after(start.at, () => this.start(start));
    for (const fault of scenario.faults) timeline.after(fault.at, () => this.inject(fault));
    for (const call of scenario.calls) timeline.after(call.at, () => void this.operate(call));
    for (const { name, at, by } of scenario.clockSteps)
      timeline.after(at, () => {
        this.checker.note(() => `${name}: the database's clock is set by ${by} ms`);
        this.checker.time.step(by);
      });
    for (const sending of scenario.sendings) timeline.after(sending.at, () => this.send(sending));
    for (const { at, worker, call } of scenario.messages?.crashes ?? [])
      timeline.after(at, () => this.processes[worker]!.crashInRelayCall(call));
    this.messages?.start();
    this.pauser.start();
    timeline.after(scenario.calm, () => this.calmDown());
    this.look();
    await timeline
      .run(() => this.isQuiet)
      .catch((error: unknown) => {
        if (!(error instanceof TimeStandsStill)) throw error;
        this.checker.violate('I19', error.message);
      })
      .finally(() => this.tenants.end());
    await this.database.checkCoded();
    await checkUnexplained(this.database, this.checker, scenario.sagas);
    const remains = { ...this.parts(), scenario, started: this.started, isQuiet: this.restful > PATIENCE };
    const violations = [...this.checker.violations, ...finalChecks(remains)];
    const { books, log } = this.checker;
    return { violations, sagas: books.size, waiting: waitingIn(books), log, took: timeline.now };
  }

  private start(start: Start): void {
    const { sagas } = this.scenario;
    const process = this.processes[start.by]!;
    if (!process.life.isAlive) return;
    const graph = process.graphOf(sagas[start.saga]!, start.isSecond);
    const id = `saga-${start.n}`;
    const of = start.isConflict ? start.n : start.correlationId;
    const values = { n: start.n, of, family: start.family };
    const input = JSON.stringify(values);
    const fixed = { ...start, id, fresh: true, tags: undefined };
    const made = newSagaOf(graph, input, fixed, () => 0, lockKeyNow(graph, values));
    if (start.isFatal) this.checker.fatal.add(id);
    const started: Started = { start, id };
    this.started.push(started);
    const { name, version, correlationId, priority, delay, lockKey, timeout, step } = made;
    const limitKey = this.scenario.isLeftOut(LIMIT_KEYS) ? undefined : made.limitKey;
    const given = {
      id,
      fresh: true,
      name,
      version,
      correlationId,
      input,
      priority,
      delay,
      lockKey,
      timeout,
      step,
      limitKey,
    };
    this.checker.submitted(id);
    const submitted = this.tenants.call(start.n, () => process.engine.submit(given));
    submitted.then(
      (result) => {
        started.result = result;
        if (start.isAwaited) this.wait(process, started);
      },
      (error: Error) => (started.failed = error.message),
    );
  }

  /** Some saga, with a key of its own. */
  private async startWithin(engine: SagaEngine, manager: EntityManager, id: string): Promise<void> {
    const { sagas, familySagas, chance } = this.scenario;
    const { graph } = chance.for('saga of', id).among(sagas.slice(0, sagas.length - familySagas));
    const input = { n: 0, of: id };
    const given = { id, correlationId: id, priority: 0, fresh: true };
    const { step, ...made } = newSagaOf(
      graph,
      JSON.stringify(input),
      given,
      () => 0,
      lockKeyNow(graph, input),
    );
    await engine.submitWithin(manager, { ...made, step });
  }

  private wait(process: SimulatedProcess, started: Started): void {
    const { result } = started;
    started.waits = process.life;
    const id = result!.created ? started.id : result!.existing!.id;
    const waited = this.tenants.call(started.start.n, () => process.engine.waiters.wait(id));
    waited.then(
      ({ state }) => (started.outcome = state.status),
      () => undefined,
    );
  }

  private inject({ name, kind, worker, duration, call }: Fault): void {
    const { timeline } = this;
    const process = this.processes[worker]!;
    const until = timeline.now + duration;
    this.checker.note(() => `${name}: ${kind} of ${process.name} for ${duration} ms`);
    if (kind === 'crash') process.crash();
    else if (kind === 'crash in a call') process.crashInCall(call);
    else if (kind === 'pause') process.pause(duration);
    else if (kind === 'stop') void process.stop();
    else if (kind === 'half-open') process.link.hungUntil = until;
    else if (kind === 'deaf') process.link.deafUntil = until;
    else if (kind === 'no notifications') process.link.unheardUntil = until;
    else if (kind === 'cut') {
      process.link.cutUntil = until;
      timeline.after(duration, () => process.reconnected());
    } else {
      this.database.downUntil = until;
      timeline.after(duration, () => this.processes.forEach((one) => one.reconnected()));
    }
  }

  private async operate(call: OperatorCall): Promise<void> {
    const id = this.targetOf(call);
    const process = this.processes.at(-1)!;
    if (id === undefined) return;
    this.checker.note(() => `${call.name}: ${call.kind} ${id}`);
    const done = this.tenants.call(call.pick, () => this.operator.carryOut(call, id, process.engine));
    await done.catch((error: Error) => {
      this.checker.note(() => `${call.name} is refused: ${error.message}`);
    });
  }

  /** Sometimes cancels the saga during an attempt of a pivot. */
  private cancelInPivot(id: string): void {
    this.pivots += 1;
    const dice = this.scenario.chance.for(PIVOT_CALLS, this.pivots);
    const [isCalled, isEarly, after] = [dice.happens(0.4), dice.happens(0.6), dice.long(0, 500)];
    if (!isCalled || this.isLastCallOver) return;
    this.timeline.after(after, () => {
      this.checker.note(() => `${id} is cancelled while its pivot is in progress`);
      this.operator.cancelInPivot(id, isEarly, this.processes.at(-1)!.engine).catch((error: Error) => {
        this.checker.note(() => `that is refused: ${error.message}`);
      });
    });
  }

  /** As of all that operators do. */
  private get isLastCallOver(): boolean {
    return this.timeline.now > this.scenario.calm * 2;
  }

  private send(sending: Sending): void {
    const id = this.targetOf(sending);
    const book = id === undefined ? undefined : this.checker.books.get(id);
    if (book) this.tenants.call(sending.pick, () => this.senders.carryOut(sending, book.id, book.graph));
  }

  /** In the end nothing is paused any more. */
  private resumeAll(): void {
    for (const { id, state } of this.checker.books.values()) {
      if (state.status !== 'paused') continue;
      this.checker.note(() => `${id} is resumed`);
      void this.operator.resume(id, this.processes.at(-1)!.engine).catch(() => undefined);
    }
  }

  /** In the end every awaited signal is sent that was not sent before. */
  private sendWhatIsMissing(): void {
    const { now } = this.timeline;
    for (const { id, state } of this.checker.books.values()) {
      const goesOn = state.status === 'running' || state.status === 'compensating';
      for (const [key, { status, wait }] of goesOn ? state.steps : []) {
        const awaits = status === 'compensating' || (status === 'waiting' && state.status === 'running');
        if (!awaits || wait === undefined || wait.takenSignal !== undefined) continue;
        if (this.checker.messages.isKeptFor(id, state, wait.signal)) continue;
        const name = `last ${key} ${Math.floor(now)}`;
        if (wait.signal.startsWith(APPROVAL_PREFIX))
          for (let by = 0; by < APPROVERS; by += 1) this.senders.decide(id, key, `${name} ${by}`, by, false);
        else this.senders.send(id, signalOf(name, wait.signal), 0);
      }
    }
  }

  private targetOf({ saga, ofChild }: Pick<OperatorCall, 'saga' | 'ofChild'>): string | undefined {
    const book = this.checker.books.get(`saga-${saga}`);
    const child = book && [...book.state.steps.values()].find((step) => step.child)?.child?.id;
    return ofChild ? child : book?.id;
  }

  /** Nothing goes wrong any more. */
  private calmDown(): void {
    this.checker.note(() => 'all is well from here');
    this.database.downUntil = 0;
    void this.database.checkCoded();
    Object.assign(this.scenario.weather, { lost: 0, unanswered: 0, late: 0, hintsLost: 0, failing: 0 });
    this.messages?.calmDown();
    for (const process of this.processes) process.heal();
  }

  /** It is over once every saga has come to rest, and nothing that was sent is on its way. */
  private look(): void {
    this.timeline.after(LOOK, () => {
      const { now } = this.timeline;
      if (now > this.scenario.calm * 2) {
        this.sendWhatIsMissing();
        this.resumeAll();
        this.pauser.resumeAll();
      }
      const areDelivered = this.messages?.rests ?? true;
      const rests =
        now > this.scenario.calm * 2 &&
        !this.isScheduled &&
        areDelivered &&
        this.allRest() &&
        this.nothingIsUnderWay();
      this.restful = rests ? this.restful + 1 : 0;
      this.isQuiet =
        this.restful > PATIENCE || now > Math.max(this.scenario.calm * 2, this.endedAt()) + QUIET;
      this.look();
    });
  }

  /** Sagas will start by their schedule. */
  private get isScheduled(): boolean {
    const { sagas, scheduledUntil } = this.scenario;
    return EPOCH + this.checker.time.now < scheduledUntil + LOOK && sagas.some(({ graph }) => graph.schedule);
  }

  /** When the last saga had ended: a worker that runs one at a time may be busy for long. */
  private endedAt(): number {
    let resting = 0;
    for (const book of this.checker.books.values()) if (rests(book)) resting += 1;
    if (resting > this.lastEnd.resting) this.lastEnd = { resting, at: this.timeline.now };
    return this.lastEnd.at;
  }

  private allRest(): boolean {
    const { books } = this.checker;
    for (const book of books.values())
      if (!rests(book) && whyItWaits(book, books) === undefined) return false;
    return true;
  }

  private nothingIsUnderWay(): boolean {
    for (const { underWay } of this.participants.effects.values()) if (underWay > 0) return false;
    return true;
  }
}
