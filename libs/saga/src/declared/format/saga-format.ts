import { RATE_LIMIT, SAGA_RATE_LIMIT, STEP_CONCURRENCY } from '../../definition/options/limit-options.js';
import { RETRY_POLICY } from '../../definition/options/retry-policy.js';
import { SAGA_DECORATOR_OPTIONS } from '../../definition/options/saga-options.js';
import { SCHEDULE_OPTIONS } from '../../definition/options/schedule-options.js';
import { SAVEPOINT_OPTIONS, SUB_SAGA_OPTIONS, WORK_OPTIONS } from '../../definition/options/step-options.js';
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
import { type Field, type Fields, fieldsOf, type Shape } from './shape.js';

const DURATION = { type: 'duration' } as const;
const FLAG = { type: 'flag' } as const;
/** Names of steps are method names, and parts of idempotency keys. */
export const STEP_NAME = '^[A-Za-z][A-Za-z0-9_-]{0,199}$';
const NAME: Shape = { type: 'text', pattern: STEP_NAME, example: 'charge' };

const RETRY: Shape = {
  type: 'object',
  fields: fieldsOf(RETRY_POLICY, {
    attempts: 'The number of attempts in all, the first included.',
    delay: "The delay before the second attempt. Default: '200ms'.",
    factor: 'The factor by which each further delay grows. Default: 2.',
    maxDelay: "The maximum delay. Default: '1m'.",
    backoff: "How the delay grows. 'fixed': each delay is delay. Default: 'exponential'.",
    jitter: 'The random part of the delay, 0 to 1. Default: 0.2.',
    retryIf: false,
  }),
};

/** Keys of all steps. */
const NODE = fieldsOf(SUB_SAGA_OPTIONS, {
  after: {
    type: 'either',
    of: [NAME, { type: 'list', of: NAME }],
    about: 'The steps to wait for. []: begin at once. Default: the step just before.',
  },
  join: "How to wait for several steps. Default: 'all'.",
  when: {
    ...{ type: 'expression', scope: CONDITION_SCOPE },
    about: 'true or false. false skips the step. Default: never skipped.',
  },
  delay: 'A durable delay before the step begins. Default: none.',
  savepoint: {
    type: 'either',
    of: [
      FLAG,
      {
        type: 'object',
        fields: fieldsOf(SAVEPOINT_OPTIONS, { attempts: 'The number of rounds in all, from 2.' }),
      },
    ],
    about: 'Makes the step a savepoint. Default: false.',
  },
  retry: { ...RETRY, about: "The retry policy of the step. Default: the saga's." },
  compensate: COMPENSATION,
  compensationRetry: { ...RETRY, about: "The retry policy of the compensation. Default: the saga's." },
  compensationTimeout:
    'The maximum duration of an attempt of the compensation. Default: the timeout of the step.',
  pivot: 'Point of no return: after this step the saga only goes forward. Default: false.',
  onFailure:
    "'continue': the step is optional; if it fails, the saga continues without it. Default: 'compensate'.",
});

/** The key of steps whose result comes from outside. */
const RESULT_SCHEMA: Field = {
  type: 'schema',
  about: 'A JSON Schema that the result must satisfy, of each item with forEach. Default: none.',
};

/** Keys of steps that do their work themselves. */
const WORK: Fields = {
  ...NODE,
  resultSchema: RESULT_SCHEMA,
  ...fieldsOf(WORK_OPTIONS, {
    timeout: "The maximum duration of an attempt. Default: '30s' for http and call, '10m' for exec.",
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
          fields: fieldsOf(STEP_CONCURRENCY, {
            count: 'The number of attempts, over all sagas.',
            key: false,
          }),
        },
      ],
      about:
        'The maximum number of items that run at once, default 10; or of attempts over all sagas and processes.',
    },
    idempotent: 'false: at most once; an interrupted step never runs again. Default: true.',
    compensateOnFailure: 'Whether to compensate the step also if it failed. Default: false.',
    probe: PROBE,
    rateLimit: {
      type: 'object',
      fields: fieldsOf(RATE_LIMIT, {
        count: 'The number of attempts.',
        per: 'The length of the window.',
        key: false,
      }),
      about: 'A limit on the attempts of the step, across all processes. Default: none.',
    },
    heartbeat: false,
    transactional: false,
    compensationReply: false,
  }),
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
  description: {
    type: 'text',
    example: 'Reserves stock and charges the card',
    about: 'A text for readers of the file.',
  },
  secrets: {
    type: 'map',
    keys: VARIABLE,
    of: { type: 'text', example: '/run/secrets/stripe' },
    about: 'Files by name. {{ secrets.<name> }} is the text of the file, read for each call.',
  },
  ...fieldsOf(SAGA_DECORATOR_OPTIONS, {
    name: false,
    version: 'The version of the saga. Default: 1.',
    upgradeFrom: {
      type: 'either',
      of: [COUNT, { type: 'list', of: COUNT }],
      about: 'The versions whose running instances are moved to this version. Default: none.',
    },
    input: { type: 'schema', about: 'A JSON Schema (2020-12) that the input must satisfy. Default: none.' },
    retry: { ...RETRY, about: 'The retry policy of all steps. Default: 3 attempts.' },
    compensationRetry: { ...RETRY, about: 'The retry policy of all compensations. Default: 10 attempts.' },
    timeout: 'The deadline for going forward, after which the saga compensates. Default: none.',
    schedule: {
      type: 'object',
      fields: fieldsOf(SCHEDULE_OPTIONS, {
        cron: {
          ...{ type: 'text', example: '0 2 * * *', required: true },
          about: 'A cron expression of five fields, or of six with seconds first.',
        },
        timezone: { type: 'text', example: 'Europe/Berlin', about: "An IANA time zone. Default: 'UTC'." },
        input: {
          ...{ type: 'template', scope: SCHEDULE_SCOPE },
          about: 'The input of the saga, from at (ISO 8601) and triggered. Default: none.',
        },
        overlap: "What a tick does while the last saga has not ended. Default: 'skip'.",
        catchUp: "What happens to ticks at which no process was running. Default: 'last'.",
      }),
      about: 'Starts a saga at each time of a cron expression. Default: none.',
    },
    sla: 'The time after which an unfinished saga is overdue. Default: none.',
    onFailure: "'suspend': a failed saga waits for an operator. Default: 'compensate'.",
    durability: "'relaxed': checkpoints do not wait for the database's disk. Default: 'durable'.",
    lockKey: {
      ...{ type: 'expression', scope: LOCK_SCOPE },
      about:
        'The key of a semantic lock: only one saga with the same key is active at a time. Default: none.',
    },
    lockMode: false,
    concurrency: {
      ...COUNT,
      about: 'The maximum number of sagas of this name that run at once. Default: no limit.',
    },
    rateLimit: {
      type: 'object',
      fields: fieldsOf(SAGA_RATE_LIMIT, {
        count: 'The number of sagas.',
        per: 'The length of the window.',
        key: false,
      }),
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
  }),
  steps: {
    type: 'map',
    keys: STEP_NAME,
    of: { type: 'kinds', what: 'a step', kinds: STEP_KINDS },
    required: true,
    about: 'The steps by name, in order.',
  },
} satisfies Fields;

export const SAGA_SHAPE: Shape = { type: 'object', fields: SAGA_FIELDS };
