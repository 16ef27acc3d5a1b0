import {
  COMPENSATION_MESSAGE_SCOPE,
  COMPENSATION_SCOPE,
  CONNECTION_SCOPE,
  OUTPUT_SCOPE,
  RESPONSE_SCOPE,
  type Scope,
  STEP_SCOPE,
} from '../expression/scope.js';
import type { Field, Fields, Shape } from './shape.js';

const FLAG = { type: 'flag' } as const;
export const COUNT: Shape = { type: 'whole', least: 1 };
const STATUSES: Shape = { type: 'list', of: { type: 'whole', least: 100 }, least: 1 };
const CODES: Shape = { type: 'list', of: { type: 'whole', least: 1 }, least: 1 };
const METHOD = '^[A-Za-z_$][A-Za-z0-9_$]*\\.[A-Za-z_$][A-Za-z0-9_$]*$';
/** Names of environment variables and of secrets. */
export const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*$';
const HEADER = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

const PEM = { type: 'text-template', scope: CONNECTION_SCOPE } as const;
const TLS: Field = {
  type: 'object',
  fields: {
    ca: {
      ...PEM,
      about: 'The certificate authorities that the server may have. Default: those of Node.',
    },
    cert: { ...PEM, about: 'The certificate of this client. Default: none.' },
    key: { ...PEM, about: 'The key of the certificate. Default: none.' },
  },
  about:
    "Certificates. Each is the path of a file in PEM format, relative to the file's folder, or a text in this format.",
};

export function http(scope: Scope): Field {
  const fields: Fields = {
    method: {
      type: 'choice',
      of: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      about: 'The method of the request. Default: POST if there is a body, otherwise GET.',
    },
    url: {
      ...{ type: 'text-template', scope, required: true },
      about: 'The URL. Values of expressions are percent-encoded, except at its beginning.',
    },
    headers: {
      ...{ type: 'map', keys: HEADER, of: { type: 'text-template', scope } },
      about: 'Headers of the request, beside those that identify the saga.',
    },
    body: {
      ...{ type: 'template', scope },
      about: 'The body: a text is sent as text, any other value as JSON.',
    },
    accept: {
      ...STATUSES,
      about: 'Statuses that count as success, beside 200 to 299: [404] for a deletion.',
    },
    reject: { ...STATUSES, about: 'Statuses that reject the step, beside 409 and 422.' },
    retry: {
      ...STATUSES,
      about: 'Statuses after which the step is retried, beside 425, 429 and 500 to 599.',
    },
    tls: TLS,
    proxy: {
      ...{ type: 'text-template', scope: CONNECTION_SCOPE },
      about: 'The URL of a proxy. Default: the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
    },
    maxBytes: { ...COUNT, about: 'The maximum size of the response in bytes. Default: 1 MiB.' },
    result: {
      ...{ type: 'expression', scope: RESPONSE_SCOPE },
      about: 'The result of the step, from status, headers and body. Default: the body.',
    },
  };
  return { type: 'object', fields, about: 'An HTTP request.' };
}

export function exec(scope: Scope): Field {
  const fields: Fields = {
    command: {
      type: 'either',
      of: [
        { type: 'list', of: { type: 'text-template', scope }, least: 1 },
        { type: 'text', example: './charge.sh --fast' },
      ],
      required: true,
      about: 'The program and its arguments. A text, with shell: true.',
    },
    shell: { ...FLAG, about: 'Runs the text in a shell. It cannot contain expressions. Default: false.' },
    env: {
      ...{ type: 'map', keys: VARIABLE, of: { type: 'text-template', scope } },
      about: 'Variables of the command, beside PATH, HOME, LANG and those that identify the saga.',
    },
    stdin: {
      ...{ type: 'template', scope },
      about: 'The standard input: a text as it is, any other value as JSON.',
    },
    directory: {
      ...{ type: 'text', example: '../scripts' },
      about: "The working directory, relative to the file's folder. Default: the file's folder.",
    },
    reject: { ...CODES, about: 'Exit codes that reject the step. After any other than 0, it is retried.' },
    maxBytes: { ...COUNT, about: 'The maximum size of the output in bytes. Default: 1 MiB.' },
    result: {
      ...{ type: 'expression', scope: OUTPUT_SCOPE },
      about:
        'The result of the step, from output. Default: the output as JSON, or as text if it is not JSON.',
    },
  };
  return { type: 'object', fields, about: 'A command.' };
}

export function call(scope: Scope): Field {
  const fields: Fields = {
    method: {
      ...{ type: 'text', pattern: METHOD, example: 'StockService.reserve', required: true },
      about: 'The class of the provider, and its method.',
    },
    input: {
      ...{ type: 'template', scope },
      about: 'The first argument of the method. The second one is the context of the step. Default: none.',
    },
  };
  return { type: 'object', fields, about: 'A method of a provider of the Nest application.' };
}

export function message(scope: Scope, more: Fields = {}): Field {
  const text = { type: 'text-template', scope } as const;
  const fields: Fields = {
    topic: {
      ...{ ...text, required: true },
      about: 'The destination: a topic, subject, routing key or pattern, depending on the broker.',
    },
    key: {
      ...text,
      about:
        "The ordering key: messages of one topic and key arrive in the order of their steps. Default: the saga's id.",
    },
    type: { ...text, about: 'The type of the message, for its consumers. Default: the topic.' },
    payload: { ...{ type: 'template', scope }, about: 'The payload, sent as JSON. Default: null.' },
    headers: {
      ...{ type: 'map', keys: HEADER, of: text },
      about: 'Headers of the message, beside saga-id and traceparent.',
    },
    ...more,
  };
  return { type: 'object', fields, about: 'A message, which is sent if, and only if, the step is stored.' };
}

export const COMPENSATION: Field = {
  type: 'kinds',
  what: 'a compensation',
  kinds: {
    http: { http: http(COMPENSATION_SCOPE) },
    exec: { exec: exec(COMPENSATION_SCOPE) },
    call: { call: call(COMPENSATION_SCOPE) },
    message: { message: message(COMPENSATION_MESSAGE_SCOPE) },
  },
  about: 'Compensates the step. Default: none.',
};
export const PROBE: Field = {
  type: 'kinds',
  what: 'a probe',
  kinds: { http: { http: http(STEP_SCOPE) }, exec: { exec: exec(STEP_SCOPE) } },
  about:
    'Determines an unknown outcome: done after success, not done after status 404 or 410, or exit code 1.',
};
