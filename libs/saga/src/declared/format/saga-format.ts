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
import { call, COMPENSATION, COUNT, exec, http, message, PROBE, VARIABLE } from './call-format.js';
import type { Field, Fields, Shape } from './shape.js';

const DURATION = { type: 'duration' } as const;
const FLAG = { type: 'flag' } as const;
/** Names of steps are method names, and parts of idempotency keys. */
export const STEP_NAME = '^[A-Za-z][A-Za-z0-9_-]{0,199}$';
const NAME: Shape = { type: 'text', pattern: STEP_NAME, example: 'charge' };

const RETRY: Shape = {
  type: 'object',
  fields: {
    attempts: { ...COUNT, required: true, about: 'The number of attempts in all, the first included.' },
    delay: { ...DURATION, about: "The delay before the second attempt. Default: '200ms'." },
    factor: { type: 'number', about: 'The factor by which each further delay grows. Default: 2.' },
    maxDelay: { ...DURATION, about: "The maximum delay. Default: '1m'." },
    backoff: {
      type: 'choice',
      of: ['exponential', 'fixed'],
      about: "How the delay grows. 'fixed': each delay is delay. Default: 'exponential'.",
    },
    jitter: { type: 'number', about: 'The random part of the delay, 0 to 1. Default: 0.2.' },
  },
};

/** Keys of all steps, as `NodeOptions` has them. */
const NODE: Fields = {
  after: {
    type: 'either',
    of: [NAME, { type: 'list', of: NAME }],
    about: 'The steps to wait for. []: begin at once. Default: the step just before.',
  },
  join: { type: 'choice', of: ['all', 'any'], about: "How to wait for several steps. Default: 'all'." },
  when: {
    ...{ type: 'expression', scope: CONDITION_SCOPE },
    about: 'true or false. false skips the step. Default: never skipped.',
  },
  delay: { ...DURATION, about: 'A durable delay before the step begins. Default: none.' },
  savepoint: {
    type: 'either',
    of: [
      FLAG,
      {
        type: 'object',
        fields: {
          attempts: {
            type: 'whole',
            least: 2,
            required: true,
            about: 'The number of rounds in all, from 2.',
          },
        },
      },
    ],
    about: 'Makes the step a savepoint. Default: false.',
  },
  retry: { ...RETRY, about: "The retry policy of the step. Default: the saga's." },
  compensate: COMPENSATION,
  compensationRetry: { ...RETRY, about: "The retry policy of the compensation. Default: the saga's." },
  compensationTimeout: {
    ...DURATION,
    about: 'The maximum duration of an attempt of the compensation. Default: the timeout of the step.',
  },
  pivot: {
    ...FLAG,
    about: 'Point of no return: after this step the saga only goes forward. Default: false.',
  },
  onFailure: {
    type: 'choice',
    of: ['compensate', 'continue'],
    about:
      "'continue': the step is optional; if it fails, the saga continues without it. Default: 'compensate'.",
  },
};

/** The key of steps whose result comes from outside. */
const RESULT_SCHEMA: Field = {
  type: 'schema',
  about: 'A JSON Schema that the result must satisfy, of each item with forEach. Default: none.',
};

/** Keys of steps that do their work themselves, as `StepOptions` has them. */
const WORK: Fields = {
  ...NODE,
  resultSchema: RESULT_SCHEMA,
  timeout: {
    ...DURATION,
    about: "The maximum duration of an attempt. Default: '30s' for http and call, '10m' for exec.",
  },
  forEach: {
    ...{ type: 'expression', scope: CONDITION_SCOPE },
    about: 'A list: the step runs once per item, which is named item, with index.',
  },
  concurrency: {
    type: 'either',
    of: [
      COUNT,
      {
        type: 'object',
        fields: { count: { ...COUNT, required: true, about: 'The number of attempts, over all sagas.' } },
      },
    ],
    about:
      'The maximum number of items that run at once, default 10; or of attempts over all sagas and processes.',
  },
  idempotent: { ...FLAG, about: 'false: at most once; an interrupted step never runs again. Default: true.' },
  compensateOnFailure: {
    ...FLAG,
    about: 'Whether to compensate the step also if it failed. Default: false.',
  },
  probe: PROBE,
  rateLimit: {
    type: 'object',
    fields: {
      count: { ...COUNT, required: true, about: 'The number of attempts.' },
      per: { ...DURATION, required: true, about: 'The length of the window.' },
    },
    about: 'A limit on the attempts of the step, across all processes. Default: none.',
  },
};

const WAIT_TIMEOUT: Field = {
  ...DURATION,
  about: 'The maximum time to wait, after which the step fails. Default: none.',
};

/** A wait for a signal, which a reply becomes as well. */
const signalFields = (): Fields => ({
  signal: { type: 'text', example: 'payment-reply', required: true, about: 'The name of the signal.' },
  timeout: WAIT_TIMEOUT,
  reject: {
    ...{ type: 'expression', scope: SIGNAL_SCOPE },
    about: 'true rejects the step: "payload.status = \'declined\'". Default: never.',
  },
  result: {
    ...{ type: 'expression', scope: SIGNAL_SCOPE },
    about: 'The result of the step. Default: the payload.',
  },
});
const REPLY: Field = {
  ...{ type: 'object', fields: signalFields() },
  about: 'Waits for a signal that answers the message, and whose payload is the result. Default: no wait.',
};

/** The kinds of steps, by the key that decides, each with the keys that it can have. */
export const STEP_KINDS = {
  http: { http: http(STEP_SCOPE), ...WORK },
  exec: { exec: exec(STEP_SCOPE), ...WORK },
  call: { call: call(STEP_SCOPE), ...WORK },
  message: { message: message(MESSAGE_SCOPE, { reply: REPLY }), resultSchema: RESULT_SCHEMA, ...NODE },
  approval: {
    approval: {
      type: 'object',
      fields: {
        timeout: WAIT_TIMEOUT,
        result: {
          ...{ type: 'expression', scope: DECISION_SCOPE },
          about: 'The result of the step. Default: the decision { by, comment, at }.',
        },
      },
      about: 'Waits for the approval of an operator.',
    },
    ...NODE,
  },
  waitFor: {
    waitFor: {
      ...{ type: 'object', fields: signalFields() },
      about: 'Waits for a signal.',
    },
    resultSchema: RESULT_SCHEMA,
    ...NODE,
  },
  subSaga: {
    subSaga: {
      type: 'object',
      fields: {
        saga: { type: 'text', example: 'ship-order', required: true, about: 'The name of the saga.' },
        input: {
          ...{ type: 'template', scope: CHILD_SCOPE },
          about: 'The input of the saga. Default: none.',
        },
      },
      about: 'Runs another saga, whose results are the result of the step.',
    },
    ...NODE,
  },
  handler: {
    handler: {
      type: 'object',
      fields: {
        name: { type: 'text', example: 'stock.reserve', required: true, about: 'The name of the handler.' },
        version: { ...COUNT, about: 'The version of the handler. Default: 1.' },
        input: {
          ...{ type: 'template', scope: CHILD_SCOPE },
          about: 'The input of the handler. Default: none.',
        },
      },
      about: 'Calls a @StepHandler in any process over the same database.',
    },
    ...NODE,
  },
} satisfies Record<string, Fields>;

/** A saga's file. */
export const SAGA_FIELDS = {
  $schema: {
    type: 'text',
    example: './declared-saga.schema.json',
    about: 'The JSON Schema of this format, for editors.',
  },
  saga: { type: 'text', example: 'place-order', required: true, about: 'The name of the saga.' },
  version: { ...COUNT, about: 'The version of the saga. Default: 1.' },
  upgradeFrom: {
    type: 'either',
    of: [COUNT, { type: 'list', of: COUNT }],
    about: 'The versions whose running instances are moved to this version. Default: none.',
  },
  description: {
    type: 'text',
    example: 'Reserves stock and charges the card',
    about: 'A text for readers of the file.',
  },
  input: { type: 'schema', about: 'A JSON Schema (2020-12) that the input must satisfy. Default: none.' },
  secrets: {
    type: 'map',
    keys: VARIABLE,
    of: { type: 'text', example: '/run/secrets/stripe' },
    about: 'Files by name. {{ secrets.<name> }} is the text of the file, read for each call.',
  },
  retry: { ...RETRY, about: 'The retry policy of all steps. Default: 3 attempts.' },
  compensationRetry: { ...RETRY, about: 'The retry policy of all compensations. Default: 10 attempts.' },
  timeout: {
    ...DURATION,
    about: 'The deadline for going forward, after which the saga compensates. Default: none.',
  },
  schedule: {
    type: 'object',
    fields: {
      cron: {
        ...{ type: 'text', example: '0 2 * * *', required: true },
        about: 'A cron expression of five fields, or of six with seconds first.',
      },
      timezone: { type: 'text', example: 'Europe/Berlin', about: "An IANA time zone. Default: 'UTC'." },
      input: {
        ...{ type: 'template', scope: SCHEDULE_SCOPE },
        about: 'The input of the saga, from at (ISO 8601) and triggered. Default: none.',
      },
      overlap: {
        type: 'choice',
        of: ['skip', 'queue', 'allow'],
        about: "What a tick does while the last saga has not ended. Default: 'skip'.",
      },
      catchUp: {
        type: 'choice',
        of: ['none', 'last', 'all'],
        about: "What happens to ticks at which no process was running. Default: 'last'.",
      },
    },
    about: 'Starts a saga at each time of a cron expression. Default: none.',
  },
  sla: { ...DURATION, about: 'The time after which an unfinished saga is overdue. Default: none.' },
  onFailure: {
    type: 'choice',
    of: ['compensate', 'suspend'],
    about: "'suspend': a failed saga waits for an operator. Default: 'compensate'.",
  },
  durability: {
    type: 'choice',
    of: ['durable', 'relaxed'],
    about: "'relaxed': checkpoints do not wait for the database's disk. Default: 'durable'.",
  },
  lockKey: {
    ...{ type: 'expression', scope: LOCK_SCOPE },
    about: 'The key of a semantic lock: only one saga with the same key is active at a time. Default: none.',
  },
  concurrency: {
    ...COUNT,
    about: 'The maximum number of sagas of this name that run at once. Default: no limit.',
  },
  rateLimit: {
    type: 'object',
    fields: {
      count: { ...COUNT, required: true, about: 'The number of sagas.' },
      per: { ...DURATION, required: true, about: 'The length of the window.' },
    },
    about: 'A limit on how often sagas of this name begin, across all processes. Default: none.',
  },
  retention: {
    type: 'either',
    of: [DURATION, FLAG],
    about: 'How long an ended saga is kept. false: for ever. Default: as the application says.',
  },
  redact: {
    type: 'list',
    of: { type: 'text', example: 'card.number' },
    about: 'Fields of the input and the results that operators never see. Default: none.',
  },
  steps: {
    type: 'map',
    keys: STEP_NAME,
    of: { type: 'kinds', what: 'a step', kinds: STEP_KINDS },
    required: true,
    about: 'The steps by name, in order.',
  },
} as const satisfies Fields;

export const SAGA_SHAPE: Shape = { type: 'object', fields: SAGA_FIELDS };
