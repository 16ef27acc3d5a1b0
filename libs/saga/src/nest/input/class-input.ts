import type { Type } from '@nestjs/common';
import type * as Transformer from 'class-transformer';
import type * as Validator from 'class-validator';
import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { isStandardSchema } from '../../definition/types/standard-schema.js';
import { textOfDiagnostic } from '../../shared/diagnostic.js';
import { ifInstalled } from '../../shared/if-installed.js';
import { SagaConfigurationError } from '../../errors.js';
import type { InputProblem } from './input-problems.js';

/** Optional peers, loaded where a saga has a class as its `input`, and nowhere else. */
const PACKAGES = ['class-validator', 'class-transformer'] as const;
const INSTALL = `npm install ${PACKAGES.join(' ')}`;

type Validators = Pick<typeof Validator, 'validate' | 'getMetadataStorage'> &
  Pick<typeof Transformer, 'plainToInstance'>;

/** By a literal name each, so that bundlers find them, and with a `catch`, so that these do not insist on them. */
async function load(): Promise<Validators | { readonly missing: readonly string[] }> {
  const [validator, transformer] = await Promise.all([
    import('class-validator').catch(ifInstalled),
    import('class-transformer').catch(ifInstalled),
  ]);
  if (validator && transformer) return { ...validator, ...transformer };
  return { missing: PACKAGES.filter((_, n) => ![validator, transformer][n]) };
}

let loading: ReturnType<typeof load> | undefined;

/** The class that a graph's input is checked by, if it is one. */
export function inputClassOf({ input }: SagaGraph): Type | undefined {
  return input === undefined || isStandardSchema(input) ? undefined : input;
}

/** What is wrong with sagas whose input is a class, each with its fix: what checks it is not here, or would check nothing. */
export async function uncheckableInputs(
  sagas: readonly { readonly type: Type; readonly graph: SagaGraph }[],
): Promise<string[]> {
  const problems: string[] = [];
  for (const { type, graph } of sagas) {
    const input = inputClassOf(graph);
    if (!input) continue;
    const loaded = await (loading ??= load());
    const flaw = 'missing' in loaded ? missingFlaw(loaded.missing) : classFlaw(input, loaded);
    if (flaw)
      problems.push(`${type.name}: @Saga input is the class ${nameOf(input)}, ${textOfDiagnostic(flaw)}`);
  }
  return problems;
}

function missingFlaw(missing: readonly string[]) {
  const are = missing.length === 1 ? 'is' : 'are';
  return {
    problem: `but ${missing.join(' and ')}, required to validate it, ${are} not installed`,
    fix: `run ${INSTALL}, or give a Standard Schema (zod, valibot, arktype)`,
  };
}

function classFlaw(input: Type, { getMetadataStorage }: Validators) {
  const rules = getMetadataStorage().getTargetValidationMetadatas(input, '', false, false);
  if (rules.length > 0) return undefined;
  return {
    problem: 'which has no decorators of class-validator, so that no property would be validated',
    fix: 'decorate its properties (@IsString() and others), or give a Standard Schema (zod, valibot, arktype)',
  };
}

/**
 * Checks a value as Nest's ValidationPipe does: as an instance of the class.
 * @throws SagaConfigurationError where class-validator or class-transformer is not installed; what they throw
 */
export async function problemsByClass(type: Type, value: unknown): Promise<InputProblem[]> {
  const loaded = await (loading ??= load());
  if ('missing' in loaded)
    throw new SagaConfigurationError(
      `The input is validated by the class ${nameOf(type)}, ${textOfDiagnostic(missingFlaw(loaded.missing))}.`,
    );
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [{ path: [], message: 'must be an object' }];
  const instance = loaded.plainToInstance(type, value) as object;
  const errors = await loaded.validate(instance, { validationError: { target: false, value: false } });
  return errors.flatMap((error) => problemsOf(error, []));
}

/** An error reports a property, or by its children of what is below it. */
function problemsOf(
  { property, constraints = {}, children = [] }: Validator.ValidationError,
  above: InputProblem['path'],
): InputProblem[] {
  const path = property === undefined ? above : [...above, indexOr(property)];
  const own = Object.values(constraints).map((message) => ({
    path,
    message: withoutName(message, property),
  }));
  return [...own, ...children.flatMap((child) => problemsOf(child, path))];
}

/** class-validator names the items of an array by texts. */
function indexOr(property: string): string | number {
  return /^\d{1,9}$/.test(property) ? Number(property) : property;
}

/** The path says it already. */
function withoutName(message: string, property: string | undefined): string {
  return property !== undefined && message.startsWith(`${property} `)
    ? message.slice(property.length + 1)
    : message;
}

function nameOf(type: Type): string {
  return type.name || 'without a name';
}
