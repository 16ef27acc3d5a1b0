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
  eitherOf,
  expression,
  type Field,
  optionalKey,
  FLAG,
  listOf,
  mapOf,
  objectOf,
  type ReadOf,
  requiredKey,
  template,
  textLike,
  textTemplate,
} from './shape.js';

const STATUSES = listOf({ type: 'whole', least: 100 }, 1);
const METHOD = '^[A-Za-z_$][A-Za-z0-9_$]*\\.[A-Za-z_$][A-Za-z0-9_$]*$';
/** Names of environment variables and of secrets. */
export const VARIABLE = '^[A-Za-z_][A-Za-z0-9_]*$';
const HEADER = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";

const PEM = textTemplate(CONNECTION_SCOPE);
const TLS = objectOf({
  ca: optionalKey(PEM, 'The certificate authorities that the server may have. Default: those of Node.'),
  cert: optionalKey(PEM, 'The certificate of this client. Default: none.'),
  key: optionalKey(PEM, 'The key of the certificate. Default: none.'),
});

/** `http` of a file. */
export type HttpDefinition = ReadOf<ReturnType<typeof http>>;

export function http(scope: Scope) {
  const fields = objectOf({
    method: optionalKey(
      choice('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'),
      'The method of the request. Default: POST if there is a body, otherwise GET.',
    ),
    url: requiredKey(
      textTemplate(scope),
      'The URL. Values of expressions are percent-encoded, except at its beginning.',
    ),
    headers: optionalKey(
      mapOf(textTemplate(scope), HEADER),
      'Headers of the request, beside those that identify the saga.',
    ),
    body: optionalKey(template(scope), 'The body: a text is sent as text, any other value as JSON.'),
    accept: optionalKey(STATUSES, 'Statuses that count as success, beside 200 to 299: [404] for a deletion.'),
    reject: optionalKey(STATUSES, 'Statuses that reject the step, beside 409 and 422.'),
    retry: optionalKey(STATUSES, 'Statuses after which the step is retried, beside 425, 429 and 500 to 599.'),
    tls: optionalKey(
      TLS,
      "Certificates. Each is the path of a file in PEM format, relative to the file's folder, or a text in this format.",
    ),
    proxy: optionalKey(
      PEM,
      'The URL of a proxy. Default: the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY.',
    ),
    maxBytes: optionalKey(COUNT, 'The maximum size of the response in bytes. Default: 1 MiB.'),
    result: optionalKey(
      expression(RESPONSE_SCOPE),
      'The result of the step, from status, headers and body. Default: the body.',
    ),
  });
  return optionalKey(fields, 'An HTTP request.');
}

/** `exec` of a file. Its command is a text with `shell: true`. */
export type ExecDefinition = ReadOf<ReturnType<typeof exec>>;

export function exec(scope: Scope) {
  const fields = objectOf({
    command: requiredKey(
      eitherOf(listOf(textTemplate(scope), 1), textLike('./charge.sh --fast')),
      'The program and its arguments. A text, with shell: true.',
    ),
    shell: optionalKey(FLAG, 'Runs the text in a shell. It cannot contain expressions. Default: false.'),
    env: optionalKey(
      mapOf(textTemplate(scope), VARIABLE),
      'Variables of the command, beside PATH, HOME, LANG and those that identify the saga.',
    ),
    stdin: optionalKey(template(scope), 'The standard input: a text as it is, any other value as JSON.'),
    directory: optionalKey(
      textLike('../scripts'),
      "The working directory, relative to the file's folder. Default: the file's folder.",
    ),
    reject: optionalKey(
      listOf(COUNT, 1),
      'Exit codes that reject the step. After any other than 0, it is retried.',
    ),
    maxBytes: optionalKey(COUNT, 'The maximum size of the output in bytes. Default: 1 MiB.'),
    result: optionalKey(
      expression(OUTPUT_SCOPE),
      'The result of the step, from output. Default: the output as JSON, or as text if it is not JSON.',
    ),
  });
  return optionalKey(fields, 'A command.');
}

/** `call` of a file. */
export type ProviderDefinition = ReadOf<ReturnType<typeof call>>;

export function call(scope: Scope) {
  const fields = objectOf({
    method: requiredKey(
      textLike('StockService.reserve', METHOD),
      'The class of the provider, and its method.',
    ),
    input: optionalKey(
      template(scope),
      'The first argument of the method. The second one is the context of the step. Default: none.',
    ),
  });
  return optionalKey(fields, 'A method of a provider of the Nest application.');
}

/** `message` of a file. */
export type MessageDefinition = ReadOf<ReturnType<typeof message>>;

export function message(scope: Scope) {
  const fields = objectOf(messageFields(scope));
  return optionalKey(fields, 'A message, which is sent if, and only if, the step is stored.');
}

export function messageFields(scope: Scope) {
  const part = textTemplate(scope);
  return {
    topic: requiredKey(
      part,
      'The destination: a topic, subject, routing key or pattern, depending on the broker.',
    ),
    key: optionalKey(
      part,
      "The ordering key: messages of one topic and key arrive in the order of their steps. Default: the saga's id.",
    ),
    type: optionalKey(part, 'The type of the message, for its consumers. Default: the topic.'),
    payload: optionalKey(template(scope), 'The payload, sent as JSON. Default: null.'),
    headers: optionalKey(mapOf(part, HEADER), 'Headers of the message, beside saga-id and traceparent.'),
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
