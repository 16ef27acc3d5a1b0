import { checkHandler } from '../options/handler-name.js';
import type { UnlinkedStep } from '../graph/link-steps.js';
import { LONGEST_NAME, OptionReader, SEPARATORS, UNREADABLE } from '../options/option-reader.js';
import { type ResolvedRetryPolicy, resolveRetryPolicy } from '../options/retry-policy.js';
import type { Report } from '../../shared/diagnostic.js';
import { approvalSignal } from '../graph/saga-graph.js';
import { DECORATORS, type NodeMetadata, type StepMetadata } from '../decorators/saga-metadata.js';
import type { SagaMethods } from '../decorators/saga-methods.js';
import {
  APPROVAL_OPTIONS,
  type NodeOptionsRead,
  optionsOfNode,
  REMOTE_STEP_OPTIONS,
  STEP_OPTIONS,
  SUB_SAGA_OPTIONS,
  WAIT_FOR_OPTIONS,
} from '../options/step-options.js';
import { shown } from '../../shared/shown-value.js';

/** The options of each decorator. */
const OPTIONS_OF = {
  step: STEP_OPTIONS,
  'sub-saga': SUB_SAGA_OPTIONS,
  remote: REMOTE_STEP_OPTIONS,
  signal: WAIT_FOR_OPTIONS,
  approval: APPROVAL_OPTIONS,
} satisfies Record<NodeMetadata['kind'], object>;
/** The options of a step that has none. */
export const NO_OPTIONS: NodeOptionsRead = new OptionReader(() => undefined).read(STEP_OPTIONS, {});
/** The number of items of a fan-out that run at once by default. */
const DEFAULT_ITEMS_AT_ONCE = 10;

/** An at-most-once step is tried again only if it says so itself. */
const AT_MOST_ONCE = resolveRetryPolicy({ attempts: 1 });
/** The policies of steps that have none of their own; undefined: it is wrong, and that was reported. */
export interface InheritedPolicies {
  readonly retry: ResolvedRetryPolicy | undefined;
  readonly compensationRetry: ResolvedRetryPolicy | undefined;
}

/**
 * Returns the node of a step. All that is wrong with its options is reported. After a report, only the name and the
 * edges of the node may be used.
 */
export function readStep(
  { method, options: given, node: declared }: StepMetadata,
  previous: string | undefined,
  methods: SagaMethods,
  inherited: InheritedPolicies,
  report: Report,
): UnlinkedStep {
  const reader = new OptionReader(report, '', `${DECORATORS[declared.kind]} has the `);
  const options = { ...NO_OPTIONS, ...reader.read(OPTIONS_OF[declared.kind], given) } as NodeOptionsRead;
  if (declared.kind === 'sub-saga' && typeof declared.child !== 'function') {
    report(
      `@SubSaga was given ${shown(declared.child)}`,
      'give it a function that returns the class: () => ShipmentSaga',
    );
  }
  if (declared.kind === 'remote') checkHandler('@RemoteStep', declared.handler, report);
  const node = nodeOfOptions(method, options, methods, inherited, report);
  return {
    ...node,
    kind: declared.kind,
    child: declared.kind === 'sub-saga' ? declared.child : undefined,
    remote: declared.kind === 'remote' ? { name: declared.handler, version: options.version! } : undefined,
    after: readAfter(method, options, previous, methods, report),
    ...(declared.kind === 'signal' || declared.kind === 'approval'
      ? { wait: waitOf(declared.kind, method, options), timeout: undefined }
      : undefined),
  };
}

/** Returns the node of a step, without its edges. */
export function nodeOfOptions(
  method: string,
  options: NodeOptionsRead,
  methods: SagaMethods,
  inherited: InheritedPolicies,
  report: Report,
): UnlinkedStep {
  checkMethod(method, methods, report);
  checkCompensation(options, methods, report);
  checkProbe(options, methods, report);
  checkCombinations(options, report);
  const { idempotent, retry, compensationRetry, delay } = options;
  return {
    ...optionsOfNode(options),
    name: method,
    kind: 'step',
    after: [],
    join: options.join ?? 'all',
    // An invalid definition is not used.
    retry: (retry ?? (idempotent ? inherited.retry : AT_MOST_ONCE))!,
    compensationRetry: (compensationRetry ?? inherited.compensationRetry)!,
    timeout: options.timeout as number | undefined,
    itemsAtOnce: options.itemsAtOnce ?? defaultItemsAtOnce(options),
    // No wait is no state of waiting.
    delay: typeof delay === 'number' && delay > 0 ? delay : undefined,
    delayOf: typeof delay === 'function' ? delay : undefined,
    optional: options.onFailure === 'continue',
  };
}

/** Items of one saga that could not run at the same time need not wait beside each other. */
function defaultItemsAtOnce({ limit }: NodeOptionsRead): number {
  return limit && !limit.key ? Math.min(limit.count, DEFAULT_ITEMS_AT_ONCE) : DEFAULT_ITEMS_AT_ONCE;
}

function checkHeartbeat({ heartbeat, timeout, transactional }: NodeOptionsRead, report: Report): void {
  if (heartbeat === undefined) return;
  if (transactional) {
    report(
      'a transactional step cannot have a heartbeat, because an attempt that is lost leaves nothing to continue from',
      'set a timeout instead',
    );
  }
  if (typeof timeout === 'number' && heartbeat >= timeout)
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

function checkCompensation(options: NodeOptionsRead, methods: SagaMethods, report: Report): void {
  const { compensate } = options;
  if (compensate === undefined) return;
  if (HOOKS.includes(compensate)) {
    report(
      `compensate is '${compensate}', which Nest calls itself, at start-up or at shutdown`,
      'rename the method',
    );
  }
  checkNamed('compensate', compensate, methods.plain, 'name a plain method', methods, report);
}

function checkProbe({ probe }: NodeOptionsRead, methods: SagaMethods, report: Report): void {
  if (probe === undefined) return;
  if (methods.plain.includes(probe) && methods.compensations.includes(probe))
    return report(`probe '${probe}' is a compensation`, 'a probe only reads: write a separate method for it');
  const plain = methods.plain.filter((name) => !methods.compensations.includes(name));
  checkNamed('probe', probe, plain, 'name a plain method that only reads', methods, report);
}

/** Checks the method that an option names. */
function checkNamed(
  option: 'compensate' | 'probe',
  method: string,
  possible: readonly string[],
  fix: string,
  methods: SagaMethods,
  report: Report,
): void {
  if (!methods.all.includes(method)) {
    const problem = `${option} ${shown(method)} is not a method of ${methods.className}`;
    report(problem, ['add the method', ...possible].join(', or name '));
  } else if (methods.steps.includes(method)) report(`${option} '${method}' is itself a step`, fix);
  else checkBody(`${option} '${method}'`, method, methods, report);
}

function checkCombinations(options: NodeOptionsRead, report: Report): void {
  if (options.compensateOnFailure && options.compensate === undefined) {
    report('compensateOnFailure needs a compensation', 'name one with compensate');
  }
  if (options.compensationTimeout !== undefined && options.compensate === undefined) {
    report('compensationTimeout needs a compensation', 'name one with compensate, or remove it');
  }
  if (options.compensationReply !== undefined) checkReply(options, report);
  checkHeartbeat(options, report);
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
  if (options.itemsAtOnce !== undefined && options.forEach === undefined) {
    report(
      'itemsAtOnce bounds the items of forEach, which this step does not have',
      `give limit: ${options.itemsAtOnce} to limit the step over all sagas, add forEach, or remove itemsAtOnce`,
    );
  }
}

function checkReply({ compensate, forEach }: NodeOptionsRead, report: Report): void {
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
  { after, join }: NodeOptionsRead,
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

function waitOf(
  kind: 'signal' | 'approval',
  step: string,
  { signal, timeout, quorum = 1 }: NodeOptionsRead,
): UnlinkedStep['wait'] {
  return {
    signal: kind === 'approval' ? approvalSignal(step) : signal!,
    ...(quorum > 1 && { quorum }),
    ...(typeof timeout === 'function' && { timeoutOf: timeout }),
    ...(typeof timeout === 'number' && { timeout }),
  };
}
