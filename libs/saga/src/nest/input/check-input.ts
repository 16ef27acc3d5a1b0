import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type {
  StandardSchema,
  StandardSchemaIssue,
  StandardSchemaResult,
} from '../../definition/types/standard-schema.js';
import { cut, shown } from '../../shared/shown-value.js';
import { serializeError } from '../../engine/payload/serialize-error.js';
import { SagaConfigurationError, SagaValidationError } from '../../errors.js';
import { inputClassOf, problemsByClass } from './class-input.js';
import { type InputProblem, messageWithoutValue, textOfInputProblems } from './input-problems.js';

/** The maximum number of characters that are shown of an error that a schema threw. */
const LONGEST_MESSAGE = 500;

type Checked = { readonly value: unknown } | { readonly problems: readonly InputProblem[] };

/**
 * The input as it is to be stored: what a Standard Schema makes of it, or as it was given where a class checks it.
 * @throws SagaValidationError for a wrong one, naming each path; with a `cause` when the schema threw, or gave no answer
 * @throws SagaConfigurationError when the graph's `input` is a class, and what checks it is not installed
 */
export async function checkInput(graph: SagaGraph, input: unknown): Promise<unknown> {
  if (graph.input === undefined) return input;
  let checked: Checked;
  try {
    checked = await askedOf(graph, input);
  } catch (error) {
    if (error instanceof SagaConfigurationError) throw error;
    const message = messageWithoutValue(serializeError(error).message, input);
    throw new SagaValidationError(
      `The input of saga '${graph.name}' could not be validated: its @Saga({ input }) threw: ` +
        `${cut(message, LONGEST_MESSAGE)}. Make it report problems instead of throwing.`,
      { cause: error },
    );
  }
  if ('value' in checked) return checked.value;
  throw new SagaValidationError(
    `The input of saga '${graph.name}' is not valid by its @Saga({ input }): ` +
      `${textOfInputProblems(checked.problems, input)}.`,
  );
}

async function askedOf(graph: SagaGraph, input: unknown): Promise<Checked> {
  const type = inputClassOf(graph);
  if (!type) return bySchema(graph.input as StandardSchema, input);
  const problems = await problemsByClass(type, input);
  return problems.length > 0 ? { problems } : { value: input };
}

async function bySchema(schema: StandardSchema, input: unknown): Promise<Checked> {
  const result: StandardSchemaResult | null | undefined = await schema['~standard'].validate(input);
  if (typeof result !== 'object' || result === null)
    throw new TypeError(
      `a Standard Schema must return { value } or { issues }, but this one returned ${typeof result}`,
    );
  if (!result.issues) return { value: result.value };
  const problems = [...result.issues].map(problemOf);
  return {
    problems: problems.length > 0 ? problems : [{ path: [], message: 'is invalid (no message was given)' }],
  };
}

function problemOf({ message, path = [] }: StandardSchemaIssue): InputProblem {
  return {
    path: path.map((key) => (typeof key === 'object' ? key.key : key)),
    message: typeof message === 'string' ? message : shown(message),
  };
}
