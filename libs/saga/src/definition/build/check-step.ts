import type { Duration } from '../options/duration.js';
import { LONGEST_TIMER } from '../options/duration.js';
import { checkHandler } from '../options/handler-name.js';
import type { UnlinkedStep } from '../graph/link-steps.js';
import { LONGEST_NAME, OptionReader, SEPARATORS, UNREADABLE } from '../options/option-reader.js';
import { AT_MOST_ONCE_RETRY, type ResolvedRetryPolicy } from '../options/retry-policy.js';
import type { Report } from '../../shared/diagnostic.js';
import { approvalSignal } from '../graph/saga-graph.js';
import { signalNameFlaw } from '../options/signal-name.js';
import type { NodeMetadata, StepMetadata } from '../decorators/saga-metadata.js';
import type { SagaMethods } from '../decorators/saga-methods.js';
import { readRateLimit } from './read-rate-limit.js';
import { readStepConcurrency } from './read-step-concurrency.js';
import type {
  AnyNodeOptions,
  ApprovalOptions,
  RemoteStepOptions,
  StepOptions,
  SubSagaOptions,
  WaitForOptions,
} from '../options/step-options.js';
import { shown } from '../../shared/shown-value.js';

const STEP_OPTIONS = [
  'compensate',
  'after',
  'join',
  'when',
  'forEach',
  'concurrency',
  'delay',
  'retry',
  'compensationRetry',
  'compensationTimeout',
  'timeout',
  'heartbeat',
  'transactional',
  'idempotent',
  'probe',
  'compensateOnFailure',
  'compensationReply',
  'rateLimit',
  'savepoint',
  'pivot',
  'onFailure',
] satisfies (keyof StepOptions)[];
const SUB_SAGA_OPTIONS = [
  'compensate',
  'after',
  'join',
  'when',
  'delay',
  'retry',
  'compensationRetry',
  'compensationTimeout',
  'savepoint',
  'pivot',
  'onFailure',
] satisfies (keyof SubSagaOptions)[];
const WAIT_OPTIONS = [...SUB_SAGA_OPTIONS, 'timeout'] satisfies (keyof ApprovalOptions)[];
/** What each decorator takes. */
const OPTIONS_OF: Record<
  NodeMetadata['kind'],
  readonly [decorator: string, options: readonly (keyof AnyNodeOptions)[]]
> = {
  step: ['@Step', STEP_OPTIONS],
  'sub-saga': ['@SubSaga', SUB_SAGA_OPTIONS],
  remote: ['@RemoteStep', [...SUB_SAGA_OPTIONS, 'version'] satisfies (keyof RemoteStepOptions)[]],
  signal: ['@WaitFor', [...WAIT_OPTIONS, 'signal'] satisfies (keyof WaitForOptions)[]],
  approval: ['@Approval', [...WAIT_OPTIONS, 'quorum'] satisfies (keyof ApprovalOptions)[]],
};
/** The approvals of a step that is not decided are loaded with its saga each time. */
const LARGEST_QUORUM = 10;
/** In all, the first included, if a savepoint does not say. */
const DEFAULT_SAVEPOINT = { attempts: 2 };

/** The policies of steps that have none of their own; undefined: it is wrong, and that was reported. */
export interface InheritedPolicies {
  readonly retry: ResolvedRetryPolicy | undefined;
  readonly compensationRetry: ResolvedRetryPolicy | undefined;
}

/**
 * The node of a step. What is wrong with its options is reported, and a node of which anything was reported
 * is not to be used beyond its name and edges.
 */
export function readStep(
  { method, options: given, node: declared }: StepMetadata,
  previous: string | undefined,
  methods: SagaMethods,
  inherited: InheritedPolicies,
  report: Report,
): UnlinkedStep {
  const read = new OptionReader(report);
  const [decorator, known] = OPTIONS_OF[declared.kind];
  const options = new OptionReader(report, `${decorator} `).options<AnyNodeOptions>(given, known);
  const child = declared.kind === 'sub-saga' ? declared.child : undefined;
  if (declared.kind === 'sub-saga' && typeof child !== 'function') {
    report(
      `@SubSaga was given ${shown(child)}`,
      'give it a function that returns the class: () => ShipmentSaga',
    );
  }
  const waits = declared.kind === 'signal' || declared.kind === 'approval';
  checkMethod(method, methods, report);
  checkCompensation(options, methods, report);
  checkProbe(options, methods, report);
  checkCombinations(options, report);

  const { retry, compensationRetry, compensationTimeout, timeout, delay } = options;
  const idempotent = read.flag(options.idempotent, 'idempotent', true);
  const ownRetry = retry ?? (idempotent ? undefined : AT_MOST_ONCE_RETRY);
  const node: { [K in keyof UnlinkedStep]: UnlinkedStep[K] | undefined } = {
    name: method,
    kind: declared.kind,
    child,
    remote: declared.kind === 'remote' ? readRemote(declared.handler, options, report) : undefined,
    wait: waits ? readWait(declared.kind, method, options, read, report) : undefined,
    after: readAfter(method, options, previous, methods, report),
    join: read.oneOf(options.join, 'join', ['all', 'any']),
    compensate: options.compensate,
    retry: ownRetry ? read.retry(ownRetry, 'retry') : inherited.retry,
    compensationRetry: compensationRetry
      ? read.retry(compensationRetry, 'compensationRetry')
      : inherited.compensationRetry,
    timeout:
      timeout === undefined || waits
        ? undefined
        : // Of an attempt, which is no time from the data: a function is refused.
          read.durationAboveZero(timeout as Duration, 'timeout', 'would fail every attempt', LONGEST_TIMER),
    compensationTimeout:
      compensationTimeout === undefined
        ? undefined
        : read.durationAboveZero(
            compensationTimeout,
            'compensationTimeout',
            'would fail every attempt of the compensation',
            LONGEST_TIMER,
          ),
    compensationReply: readReply(options.compensationReply, read, report),
    heartbeat:
      options.heartbeat === undefined
        ? undefined
        : read.durationAboveZero(options.heartbeat, 'heartbeat', 'would lose every attempt', LONGEST_TIMER),
    transactional: read.flag(options.transactional, 'transactional'),
    idempotent,
    compensateOnFailure: read.flag(options.compensateOnFailure, 'compensateOnFailure'),
    when: read.function(options.when, 'when'),
    forEach: read.function(options.forEach, 'forEach'),
    ...readStepConcurrency(options.concurrency, read),
    // No wait is no state of waiting.
    delay:
      delay === undefined || typeof delay === 'function'
        ? undefined
        : read.duration(delay, 'delay') || undefined,
    delayOf: typeof delay === 'function' ? delay : undefined,
    probe: options.probe,
    savepoint: readSavepoint(options.savepoint, read),
    pivot: read.flag(options.pivot, 'pivot'),
    optional: read.oneOf(options.onFailure, 'onFailure', ['compensate', 'continue']) === 'continue',
    rateLimit: readRateLimit(options.rateLimit, read),
  };
  checkHeartbeat(node, report);
  return node as UnlinkedStep;
}

function checkHeartbeat({ heartbeat, timeout, transactional }: Partial<UnlinkedStep>, report: Report): void {
  if (heartbeat === undefined) return;
  if (transactional) {
    report(
      'a transactional step cannot have a heartbeat, because an attempt that is lost leaves nothing to continue from',
      'set a timeout instead',
    );
  }
  if (timeout !== undefined && heartbeat >= timeout)
    report('heartbeat is not shorter than timeout, so that it has no effect', 'shorten it, or remove it');
}

function checkMethod(method: string, methods: SagaMethods, report: Report): void {
  if (method.length > LONGEST_NAME) {
    report(`its name is longer than ${LONGEST_NAME} characters`, 'give it a shorter name');
  }
  if (SEPARATORS.test(method) || UNREADABLE.test(method)) {
    report(
      'its name contains characters that idempotency keys cannot contain',
      "remove spaces, ':', '~', '[', ']' and control characters",
    );
  }
  if (method === 'then') {
    report('an object with a method then() is treated as a promise wherever it is awaited', 'rename it');
  }
  if (HOOKS.includes(method))
    report('Nest calls a method of this name itself, at start-up or at shutdown', 'rename it');
  if (!methods.all.includes(method)) report('@Step can only decorate a method', 'turn it into a method');
  checkBody('it', method, methods, report);
}

/** A call of a generator returns an iterator and runs nothing. */
function checkBody(what: string, method: string, methods: SagaMethods, report: Report): void {
  if (methods.generators.includes(method))
    report(`${what} is a generator, whose body a call does not run`, 'remove the *, and return the result');
}

/** The methods that Nest calls on every provider that has them. */
const HOOKS: readonly string[] = [
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
];

function checkCompensation(options: AnyNodeOptions, methods: SagaMethods, report: Report): void {
  const { compensate } = options;
  if (compensate === undefined) return;
  if (HOOKS.includes(compensate)) {
    report(
      `compensate is '${compensate}', which Nest calls itself, at start-up or at shutdown`,
      'rename the method',
    );
  }
  if (!methods.all.includes(compensate)) {
    report(
      `compensate ${shown(compensate)} is not a method of ${methods.className}`,
      ['add the method', ...methods.plain].join(', or name '),
    );
  } else if (methods.steps.includes(compensate)) {
    report(`compensate '${compensate}' is itself a step`, 'name a plain method');
  } else checkBody(`compensate '${compensate}'`, compensate, methods, report);
}

function checkProbe({ probe }: AnyNodeOptions, methods: SagaMethods, report: Report): void {
  if (probe === undefined) return;
  const plain = methods.plain.filter((name) => !methods.compensations.includes(name));
  if (!methods.all.includes(probe)) {
    report(
      `probe ${shown(probe)} is not a method of ${methods.className}`,
      ['add the method', ...plain].join(', or name '),
    );
  } else if (methods.steps.includes(probe)) {
    report(`probe '${probe}' is itself a step`, 'name a plain method that only reads');
  } else if (methods.compensations.includes(probe)) {
    report(`probe '${probe}' is a compensation`, 'a probe only reads: write a separate method for it');
  } else checkBody(`probe '${probe}'`, probe, methods, report);
}

function checkCombinations(options: AnyNodeOptions, report: Report): void {
  if (options.compensateOnFailure && options.compensate === undefined) {
    report('compensateOnFailure needs a compensation', 'name one with compensate');
  }
  if (options.compensationTimeout !== undefined && options.compensate === undefined) {
    report('compensationTimeout needs a compensation', 'name one with compensate, or remove it');
  }
  if (options.compensationReply !== undefined) checkReply(options, report);
  if (options.transactional && options.idempotent === false) {
    report('a transactional step already takes effect exactly once', 'remove idempotent');
  }
  if (options.transactional && options.probe !== undefined) {
    report('the outcome of a transactional step is always known', 'remove probe');
  }
  if (options.pivot && options.forEach !== undefined) {
    // With half of its items done, it is undecided whether the saga has passed the pivot.
    report('a step with forEach cannot be a pivot', 'make the step after it the pivot');
  }
  if (options.pivot && options.onFailure === 'continue') {
    // After it, the saga could neither compensate nor rely on the pivot.
    report(
      "a pivot cannot have onFailure 'continue', because the saga would continue without knowing whether it can still compensate",
      'remove onFailure, or make a step after it the pivot',
    );
  }
  if (typeof options.concurrency === 'number' && options.forEach === undefined) {
    report(
      'concurrency as a number limits the items of forEach, which this step does not have',
      `give { count: ${options.concurrency} } to limit the step over all sagas, add forEach, or remove concurrency`,
    );
  }
}

function checkReply({ compensate, forEach }: AnyNodeOptions, report: Report): void {
  if (compensate === undefined)
    report('compensationReply needs a compensation', 'name one with compensate, or remove it');
  if (forEach === undefined) return;
  // The signal does not name the item.
  report(
    'compensationReply cannot confirm the compensations of the items of forEach one by one',
    'remove compensationReply, or make each item a sub-saga',
  );
}

/** The edges of a step; an edge that is wrong is reported and left out, or kept for the linker to name. */
function readAfter(
  step: string,
  { after, join }: AnyNodeOptions,
  previous: string | undefined,
  methods: SagaMethods,
  report: Report,
): string[] {
  const given: readonly unknown[] =
    after === undefined ? [previous].filter((name) => name !== undefined) : [after].flat();
  const names = [...new Set(given)];
  if (join !== undefined && names.length < 2) {
    report(
      `join chooses between several steps, and this one waits for ${names.length === 0 ? 'none' : `${shown(names[0])} alone`}`,
      'name at least two steps in after, or remove join',
    );
  }
  const twice = names.filter((name) => given.indexOf(name) !== given.lastIndexOf(name));
  for (const name of twice) report(`after names ${shown(name)} twice`, 'name it once');
  return names.filter((name): name is string => {
    const wrong = whatIsWrongWithEdge(step, name, methods);
    if (wrong) report(...wrong);
    return !wrong;
  });
}

/** Undefined: nothing, or it is a name that the class does not have, of which the linker says what is like it. */
function whatIsWrongWithEdge(
  step: string,
  name: unknown,
  { all, steps, compensations }: SagaMethods,
): Parameters<Report> | undefined {
  if (typeof name !== 'string') {
    return [`after has ${shown(name)}`, 'give the name of a step, or several in an array'];
  }
  if (name === step) return ['after names the step itself', 'remove it'];
  if (steps.includes(name) || !all.includes(name)) return undefined;
  return compensations.includes(name)
    ? [`after names '${name}', which is a compensation`, 'name a step']
    : [`after names '${name}', which is a plain method`, 'decorate it with @Step(), or name a step'];
}

function readRemote(name: string, { version = 1 }: AnyNodeOptions, report: Report): UnlinkedStep['remote'] {
  checkHandler('@RemoteStep', name, version, report);
  return { name, version };
}

function readSavepoint(savepoint: StepOptions['savepoint'], read: OptionReader): UnlinkedStep['savepoint'] {
  if (savepoint === undefined || savepoint === false) return undefined;
  if (savepoint === true) return DEFAULT_SAVEPOINT;
  const given = read.object(savepoint, 'savepoint', ['attempts'], 'true, or { attempts: 3 }');
  // The first attempt is one of them: with fewer than 2 nothing would ever return to it.
  return given && { attempts: read.count(given.attempts, 'savepoint.attempts', 2) };
}

function readReply(
  reply: StepOptions['compensationReply'],
  read: OptionReader,
  report: Report,
): UnlinkedStep['compensationReply'] {
  if (reply === undefined) return undefined;
  const form = "such as { signal: 'refund-reply', timeout: '10m' }";
  const given = read.object(reply, 'compensationReply', ['signal', 'timeout'], form);
  if (!given) return undefined;
  const { signal, timeout } = given;
  const flaw = signalNameFlaw(signal);
  if (flaw !== undefined) report(`compensationReply.signal is ${shown(signal)}`, flaw);
  if (timeout === undefined) return { signal: signal! };
  const name = 'compensationReply.timeout';
  return { signal: signal!, timeout: read.durationAboveZero(timeout, name, 'would wait for nothing') };
}

function readWait(
  kind: 'signal' | 'approval',
  step: string,
  { signal, timeout, quorum = 1 }: AnyNodeOptions,
  read: OptionReader,
  report: Report,
): UnlinkedStep['wait'] {
  if (kind === 'signal') checkSignalName(signal, report);
  const people = read.count(quorum, 'quorum');
  if (people > LARGEST_QUORUM)
    report(`quorum is ${shown(quorum)}`, `give a whole number from 1 to ${LARGEST_QUORUM}`);
  return {
    signal: kind === 'approval' ? approvalSignal(step) : signal!,
    ...(people > 1 && { quorum: people }),
    ...(typeof timeout === 'function' && { timeoutOf: timeout }),
    ...(timeout !== undefined &&
      typeof timeout !== 'function' && {
        timeout: read.durationAboveZero(timeout, 'timeout', 'would wait for nothing'),
      }),
  };
}

function checkSignalName(signal: unknown, report: Report): void {
  const flaw = signalNameFlaw(signal);
  if (flaw !== undefined) report(`signal is ${shown(signal)}`, flaw);
}
