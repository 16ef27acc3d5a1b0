import {
  COMPENSATION_MESSAGE_SCOPE,
  COMPENSATION_SCOPE,
  CONNECTION_SCOPE,
  OUTPUT_SCOPE,
  RESPONSE_SCOPE,
  type Scope,
  STEP_SCOPE,
} from '../expression/scope.js';
import {
  choice,
  COUNT,
  either,
  expression,
  type Field,
  field,
  FLAG,
  list,
  map,
  object,
  type ReadOf,
  requiredField,
  template,
  text,
  textTemplate,
} from './shape.js';

const STATUSES = list({ type: 'whole', least: 100 }, 1);
const METHOD = '^[A-Za-z_$][A-Za-z0-9_$]*\\.[A-Za-z_$][A-Za-z0-9_$]*$';
/** Names of environment variables and of secrets. */
export const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*$';
const HEADER = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

const PEM = textTemplate(CONNECTION_SCOPE);
const TLS = object({
  ca: field(PEM, 'The certificate authorities that the server may have. Default: those of Node.'),
  cert: field(PEM, 'The certificate of this client. Default: none.'),
  key: field(PEM, 'The key of the certificate. Default: none.'),
});

/** `http` of a file. */
export type HttpDefinition = ReadOf<ReturnType<typeof http>>;

export function http(scope: Scope) {
  const fields = object({
    method: field(
      choice('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'),
      'The method of the request. Default: POST if there is a body, otherwise GET.',
    ),
    url: requiredField(
      textTemplate(scope),
      'The URL. Values of expressions are percent-encoded, except at its beginning.',
    ),
    headers: field(
      map(textTemplate(scope), HEADER),
      'Headers of the request, beside those that identify the saga.',
    ),
    body: field(template(scope), 'The body: a text is sent as text, any other value as JSON.'),
    accept: field(STATUSES, 'Statuses that count as success, beside 200 to 299: [404] for a deletion.'),
    reject: field(STATUSES, 'Statuses that reject the step, beside 409 and 422.'),
    retry: field(STATUSES, 'Statuses after which the step is retried, beside 425, 429 and 500 to 599.'),
    tls: field(
      TLS,
      "Certificates. Each is the path of a file in PEM format, relative to the file's folder, or a text in this format.",
    ),
    proxy: field(PEM, 'The URL of a proxy. Default: the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY.'),
    maxBytes: field(COUNT, 'The maximum size of the response in bytes. Default: 1 MiB.'),
    result: field(
      expression(RESPONSE_SCOPE),
      'The result of the step, from status, headers and body. Default: the body.',
    ),
  });
  return field(fields, 'An HTTP request.');
}

/** `exec` of a file. Its command is a text with `shell: true`. */
export type ExecDefinition = ReadOf<ReturnType<typeof exec>>;

export function exec(scope: Scope) {
  const fields = object({
    command: requiredField(
      either(list(textTemplate(scope), 1), text('./charge.sh --fast')),
      'The program and its arguments. A text, with shell: true.',
    ),
    shell: field(FLAG, 'Runs the text in a shell. It cannot contain expressions. Default: false.'),
    env: field(
      map(textTemplate(scope), VARIABLE),
      'Variables of the command, beside PATH, HOME, LANG and those that identify the saga.',
    ),
    stdin: field(template(scope), 'The standard input: a text as it is, any other value as JSON.'),
    directory: field(
      text('../scripts'),
      "The working directory, relative to the file's folder. Default: the file's folder.",
    ),
    reject: field(list(COUNT, 1), 'Exit codes that reject the step. After any other than 0, it is retried.'),
    maxBytes: field(COUNT, 'The maximum size of the output in bytes. Default: 1 MiB.'),
    result: field(
      expression(OUTPUT_SCOPE),
      'The result of the step, from output. Default: the output as JSON, or as text if it is not JSON.',
    ),
  });
  return field(fields, 'A command.');
}

/** `call` of a file. */
export type ProviderDefinition = ReadOf<ReturnType<typeof call>>;

export function call(scope: Scope) {
  const fields = object({
    method: requiredField(text('StockService.reserve', METHOD), 'The class of the provider, and its method.'),
    input: field(
      template(scope),
      'The first argument of the method. The second one is the context of the step. Default: none.',
    ),
  });
  return field(fields, 'A method of a provider of the Nest application.');
}

/** `message` of a file. */
export type MessageDefinition = ReadOf<ReturnType<typeof message>>;

export function message(scope: Scope) {
  const fields = object(messageFields(scope));
  return field(fields, 'A message, which is sent if, and only if, the step is stored.');
}

export function messageFields(scope: Scope) {
  const part = textTemplate(scope);
  return {
    topic: requiredField(
      part,
      'The destination: a topic, subject, routing key or pattern, depending on the broker.',
    ),
    key: field(
      part,
      "The ordering key: messages of one topic and key arrive in the order of their steps. Default: the saga's id.",
    ),
    type: field(part, 'The type of the message, for its consumers. Default: the topic.'),
    payload: field(template(scope), 'The payload, sent as JSON. Default: null.'),
    headers: field(map(part, HEADER), 'Headers of the message, beside saga-id and traceparent.'),
  };
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
