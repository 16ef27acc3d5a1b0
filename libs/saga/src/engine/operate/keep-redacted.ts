import { handlerOf } from '../../definition/options/handler-name.js';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { SagaValidationError } from '../../errors.js';
import { withRedacted } from '../../shared/redact.js';

/** The paths of the input that are redacted. The input of a handler stands within what says who asks. */
export function redactedInputPaths({ name, redact: paths = [] }: SagaGraph): readonly string[] {
  return handlerOf(name) === undefined ? paths : paths.map((path) => `input.${path}`);
}

/**
 * An input that an operator has corrected: what is `[redacted]` in it, as it is shown, is as it is stored.
 * @param given JSON text. Undefined: no input
 * @throws SagaValidationError if no stored value belongs to a `[redacted]`
 */
export function keepRedacted(
  given: string | undefined,
  stored: string | undefined,
  graph: SagaGraph | undefined,
): string | undefined {
  const paths = graph && redactedInputPaths(graph);
  if (given === undefined || !paths?.length) return given;
  const input: unknown = JSON.parse(given);
  const before: unknown = stored === undefined ? undefined : JSON.parse(stored);
  return JSON.stringify(
    withRedacted(input, before, paths, (path) => {
      throw new SagaValidationError(
        `retry(): input${path} is '[redacted]', and no stored value belongs to it. Give the value.`,
      );
    }),
  );
}
