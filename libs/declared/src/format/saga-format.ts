import {
  RETRY_POLICY,
  SAGA_DECORATOR_OPTIONS,
  SAVEPOINT_OPTIONS,
  SCHEDULE_OPTIONS,
  SUB_SAGA_OPTIONS,
  WORK_OPTIONS,
  limits,
} from 'nestjs-durable-saga/internal';
import {
  CHILD_SCOPE,
  CONDITION_SCOPE,
  DECISION_SCOPE,
  LOCK_SCOPE,
  MESSAGE_SCOPE,
  SCHEDULE_SCOPE,
  SIGNAL_SCOPE,
  STEP_SCOPE,
} from '../expression/scope.js';
import { call, COMPENSATION, exec, http, messageFields, PROBE, VARIABLE } from './call-format.js';
import {
  COUNT,
  DURATION,
  eitherOf,
  expression,
  optionalKey,
  type Fields,
  fieldsOf,
  FLAG,
  listOf,
  mapOf,
  objectOf,
  requiredKey,
  SCHEMA,
  type Shape,
  template,
  textLike,
} from './shape.js';

/** Names of steps are method names, and parts of idempotency keys. */
const STEP_NAME = '^[A-Za-z][A-Za-z0-9_-]{0,199}$';
const NAME = textLike('charge', STEP_NAME);

const RETRY = objectOf(
  fieldsOf(RETRY_POLICY, {
    attempts: 'The number of attempts in all, the first included.',
    delay: "The delay before the second attempt. Default: '200ms'.",
    factor: 'The factor by which each further delay grows. Default: 2.',
    maxDelay: "The maximum delay. Default: '1m'.",
    backoff: "How the delay grows. 'fixed': each delay is delay. Default: 'exponential'.",
    jitter: 'The random part of the delay, 0 to 1. Default: 0.2.',
    retryIf: false,
  }),
);
const SAVEPOINT = objectOf(fieldsOf(SAVEPOINT_OPTIONS, { attempts: 'The number of rounds in all, from 2.' }));

/** Keys of all steps. */
const NODE = fieldsOf(SUB_SAGA_OPTIONS, {
  after: optionalKey(
    eitherOf(NAME, listOf(NAME)),
    'The steps to wait for. []: begin at once. Default: the step just before.',
  ),
  join: "How to wait for several steps. Default: 'all'.",
  when: optionalKey(
    expression(CONDITION_SCOPE),
    'true or false. false skips the step. Default: never skipped.',
  ),
  delay: 'A durable delay before the step begins. Default: none.',
  savepoint: optionalKey(eitherOf(FLAG, SAVEPOINT), 'Makes the step a savepoint. Default: false.'),
  retry: optionalKey(RETRY, "The retry policy of the step. Default: the saga's."),
  compensate: COMPENSATION,
  compensationRetry: optionalKey(RETRY, "The retry policy of the compensation. Default: the saga's."),
  compensationTimeout:
    'The maximum duration of an attempt of the compensation. Default: the timeout of the step.',
  pivot: 'Point of no return: after this step the saga only goes forward. Default: false.',
  onFailure:
    "'continue': the step is optional; if it fails, the saga continues without it. Default: 'compensate'.",
});

/** The key of steps whose result comes from outside. */
const RESULT_SCHEMA = optionalKey(
  SCHEMA,
  'A JSON Schema that the result must satisfy, of each item with forEach. Default: none.',
);

const LIMIT = objectOf(
  fieldsOf(limits.LIMIT, { count: 'The number of attempts, over all sagas.', key: false }),
);
const RATE = objectOf(
  fieldsOf(limits.RATE_LIMIT, {
    count: 'The number of attempts.',
    per: 'The length of the window.',
    key: false,
  }),
);

/** Keys of steps that do their work themselves. */
const WORK: Fields = {
  ...NODE,
  resultSchema: RESULT_SCHEMA,
  ...fieldsOf(WORK_OPTIONS, {
    timeout: "The maximum duration of an attempt. Default: '30s' for http and call, '10m' for exec.",
    forEach: optionalKey(
      expression(CONDITION_SCOPE),
      'A list: the step runs once per item, which is named item, with index.',
    ),
    itemsAtOnce: 'The maximum number of items of a saga that run at once. It requires forEach. Default: 10.',
    limit: optionalKey(
      eitherOf(COUNT, LIMIT),
      'The maximum number of attempts that are in progress at once, over all sagas and processes. Default: no limit.',
    ),
    idempotent: 'false: at most once; an interrupted step never runs again. Default: true.',
    compensateOnFailure: 'Whether to compensate the step also if it failed. Default: false.',
    probe: PROBE,
    rateLimit: optionalKey(RATE, 'A limit on the attempts of the step, across all processes. Default: none.'),
    heartbeat: false,
    transactional: false,
    compensationReply: false,
  }),
};

const WAIT_TIMEOUT = optionalKey(
  DURATION,
  'The maximum time to wait, after which the step fails. Default: none.',
);
/** Makes the shape of a wait for a signal. The page of the format lists each shape once, so that each use makes its own. */
export const waitForSignal = () =>
  objectOf({
    signal: requiredKey(textLike('payment-reply'), 'The name of the signal.'),
    timeout: WAIT_TIMEOUT,
    reject: optionalKey(
      expression(SIGNAL_SCOPE),
      'true rejects the step: "payload.status = \'declined\'". Default: never.',
    ),
    result: optionalKey(expression(SIGNAL_SCOPE), 'The result of the step. Default: the payload.'),
  });
const MESSAGE = objectOf({
  ...messageFields(MESSAGE_SCOPE),
  reply: optionalKey(
    waitForSignal(),
    'Waits for a signal that answers the message, and whose payload is the result. Default: no wait.',
  ),
});
const APPROVAL = objectOf({
  timeout: WAIT_TIMEOUT,
  result: optionalKey(
    expression(DECISION_SCOPE),
    'The result of the step. Default: the decision { by, comment, at }.',
  ),
});
const SUB_SAGA = objectOf({
  saga: requiredKey(textLike('ship-order'), 'The name of the saga.'),
  input: optionalKey(template(CHILD_SCOPE), 'The input of the saga. Default: none.'),
});
const HANDLER = objectOf({
  name: requiredKey(textLike('stock.reserve'), 'The name of the handler.'),
  version: optionalKey(COUNT, 'The version of the handler. Default: 1.'),
  input: optionalKey(template(CHILD_SCOPE), 'The input of the handler. Default: none.'),
});

/** The kinds of steps: the key that decides, which has the name of the kind. */
export const DECIDING = {
  http: http(STEP_SCOPE),
  exec: exec(STEP_SCOPE),
  call: call(STEP_SCOPE),
  message: optionalKey(MESSAGE, 'A message, which is sent if, and only if, the step is stored.'),
  approval: optionalKey(APPROVAL, 'Waits for the approval of an operator.'),
  waitFor: optionalKey(waitForSignal(), 'Waits for a signal.'),
  subSaga: optionalKey(SUB_SAGA, 'Runs another saga, whose results are the result of the step.'),
  handler: optionalKey(HANDLER, 'Calls a @StepHandler in any process over the same database.'),
};

/** The kinds of steps, each with the keys that it can have. */
export const STEP_KINDS = {
  http: { http: DECIDING.http, ...WORK },
  exec: { exec: DECIDING.exec, ...WORK },
  call: { call: DECIDING.call, ...WORK },
  message: { message: DECIDING.message, resultSchema: RESULT_SCHEMA, ...NODE },
  approval: { approval: DECIDING.approval, ...NODE },
  waitFor: { waitFor: DECIDING.waitFor, resultSchema: RESULT_SCHEMA, ...NODE },
  subSaga: { subSaga: DECIDING.subSaga, ...NODE },
  handler: { handler: DECIDING.handler, ...NODE },
} satisfies Record<keyof typeof DECIDING, Fields>;

const SCHEDULE = objectOf(
  fieldsOf(SCHEDULE_OPTIONS, {
    cron: requiredKey(
      textLike('0 2 * * *'),
      'A cron expression of five fields, or of six with seconds first.',
    ),
    timezone: optionalKey(textLike('Europe/Berlin'), "An IANA time zone. Default: 'UTC'."),
    input: optionalKey(
      template(SCHEDULE_SCOPE),
      'The input of the saga, from at (ISO 8601) and triggered. Default: none.',
    ),
    overlap: "What a tick does while the last saga has not ended. Default: 'skip'.",
    catchUp: "What happens to ticks at which no process was running. Default: 'last'.",
  }),
);
const SAGA_RATE = objectOf(
  fieldsOf(limits.RATE_LIMIT, {
    count: 'The number of sagas.',
    per: 'The length of the window.',
    key: false,
  }),
);

/** A saga's file. */
export const SAGA_FIELDS = {
  $schema: optionalKey(
    textLike('./declared-saga.schema.json'),
    'The JSON Schema of this format, for editors.',
  ),
  saga: requiredKey(textLike('place-order'), 'The name of the saga.'),
  description: optionalKey(
    textLike('Reserves stock and charges the card'),
    'A text for readers of the file.',
  ),
  secrets: optionalKey(
    mapOf(textLike('/run/secrets/stripe'), VARIABLE),
    'Files by name. {{ secrets.<name> }} is the text of the file, read for each call.',
  ),
  ...fieldsOf(SAGA_DECORATOR_OPTIONS, {
    name: false,
    version: 'The version of the saga. Default: 1.',
    upgradeFrom: optionalKey(
      eitherOf(COUNT, listOf(COUNT)),
      'The versions whose running instances are moved to this version. Default: none.',
    ),
    input: optionalKey(SCHEMA, 'A JSON Schema (2020-12) that the input must satisfy. Default: none.'),
    retry: optionalKey(RETRY, 'The retry policy of all steps. Default: 3 attempts.'),
    compensationRetry: optionalKey(RETRY, 'The retry policy of all compensations. Default: 10 attempts.'),
    timeout: 'The deadline for going forward, after which the saga compensates. Default: none.',
    schedule: optionalKey(SCHEDULE, 'Starts a saga at each time of a cron expression. Default: none.'),
    sla: 'The time after which an unfinished saga is overdue. Default: none.',
    onFailure: "'suspend': a failed saga waits for an operator. Default: 'compensate'.",
    durability: "'relaxed': checkpoints do not wait for the database's disk. Default: 'durable'.",
    lockKey: optionalKey(
      expression(LOCK_SCOPE),
      'The key of a semantic lock, from input and tags: only one saga with the same key is active at a time. Default: none.',
    ),
    lockMode: false,
    limit: optionalKey(
      COUNT,
      'The maximum number of sagas of this name that run at once. Default: no limit.',
    ),
    rateLimit: optionalKey(
      SAGA_RATE,
      'A limit on how often sagas of this name begin, across all processes. Default: none.',
    ),
    retention: optionalKey(
      eitherOf(DURATION, FLAG),
      'How long an ended saga is kept. false: for ever. Default: as the application says.',
    ),
    redact: optionalKey(
      listOf(textLike('card.number')),
      'Fields of the input and the results that operators never see. Default: none.',
    ),
  }),
  steps: requiredKey(
    mapOf({ type: 'kinds', what: 'a step', kinds: STEP_KINDS }, STEP_NAME),
    'The steps by name, in order.',
  ),
} satisfies Fields;

export const SAGA_SHAPE: Shape = { type: 'object', fields: SAGA_FIELDS };
