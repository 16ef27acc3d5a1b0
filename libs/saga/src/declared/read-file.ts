import { dirname, resolve } from 'node:path';
import { accessSync, constants } from 'node:fs';
import type { Type } from '@nestjs/common';
import { analyzeSaga } from '../definition/build/build-saga-graph.js';
import { nearestName } from '../shared/nearest-name.js';
import { type JsonSchemaCheck, jsonSchemaCheck } from './build/json-schema-check.js';
import { ownerOf, sagaClass } from './build/saga-class.js';
import type { DeclaredSagaProblem, Place } from './declared-saga.error.js';
import { sharedEvaluator } from './expression/evaluator.js';
import type { Expression } from './expression/expression.js';
import { expressionsOf, type TextTemplate } from './expression/template.js';
import { isPem } from './action/tls-files.js';
import { expressionsOfRequest } from './action/http-call.js';
import type { HttpConnections } from './action/http-connections.js';
import type { FindMethod } from './action/provider-call.js';
import { checkCalls } from './format/check-calls.js';
import { ShapeReader } from './format/read-shape.js';
import { SAGA_SHAPE } from './format/saga-format.js';
import type { CallFile, SagaFile } from './format/saga-file.js';
import type { Packages } from './packages.js';
import { type Located, placeOf } from './source/located.js';
import { parseSource, type ReportAt } from './source/parse-source.js';

/** A file that was read, and the class that it stands for. */
export interface ReadFile {
  readonly file: string;
  readonly type: Type;
  readonly name: string;
  readonly version: number;
  /** Where the name is. */
  readonly at: Place;
  /** Where a path of keys is. */
  readonly placeOf: (path: readonly string[]) => Place;
  /** The sagas that its steps start, by step. */
  readonly children: ReadonlyMap<string, string>;
}

export interface FileContext {
  readonly packages: Packages;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether variables and secrets that do not exist are problems. */
  readonly checkEnvironment: boolean;
  readonly findMethod: FindMethod;
  /** The class of a saga by its name. It is called after all files are read. */
  readonly childOf: (saga: string) => Type;
  readonly connections: HttpConnections;
  readonly problems: DeclaredSagaProblem[];
}

/** Reads the text of a file. Undefined: it is invalid, and all of its problems were added. */
export function readFile(file: string, text: string, context: FileContext): ReadFile | undefined {
  const { packages, problems } = context;
  const before = problems.length;
  const report: ReportAt = (at, problem, fix) => void problems.push({ file, ...at, problem, fix });
  const root = parseSource(packages.yaml, text, report);
  if (!root) return undefined;
  const reader = new ShapeReader({ jsonata: packages.jsonata, report });
  const read = reader.read(root, SAGA_SHAPE, 'the file') as SagaFile;
  if (problems.length > before) return undefined;
  const schemaAt = (keys: readonly string[], schema: object | boolean | undefined) =>
    schemaOf(schema, keys, root, packages, report);
  const input = schemaAt(['input'], read.input);
  const resultSchemas = new Map(
    [...read.steps].map(([step, { resultSchema }]) => [
      step,
      schemaAt(['steps', step, 'resultSchema'], resultSchema),
    ]),
  );
  checkCalls(read, root, report);
  if (context.checkEnvironment) checkMethods(read, root, context.findMethod, report);
  checkEnvironment(file, read, root, context, report);
  if (problems.length > before) return undefined;
  const type = sagaClass(read, {
    surroundings: {
      ...{ file, folder: dirname(resolve(file)), environment: context.environment },
      ...{ evaluator: sharedEvaluator(), secrets: read.secrets ?? new Map<string, string>() },
    },
    ...{
      connections: context.connections,
      input,
      resultSchemas,
      childOf: context.childOf,
      findMethod: context.findMethod,
    },
  });
  reportFindings(type, root, report);
  if (problems.length > before) return undefined;
  const { saga: name, version = 1, steps } = read;
  const children = new Map(
    [...steps].flatMap(([step, { subSaga }]) => (subSaga ? [[step, subSaga.saga]] : [])),
  );
  return {
    ...{ file, type, name, version, children },
    at: placeOf(root, ['saga']),
    placeOf: (path) => placeOf(root, path),
  };
}

function checkMethods({ steps }: SagaFile, root: Located, find: FindMethod, report: ReportAt): void {
  for (const [step, { call, compensate }] of steps) {
    const calls = [
      { call, path: ['steps', step, 'call', 'method'] },
      { call: compensate?.call, path: ['steps', step, 'compensate', 'call', 'method'] },
    ];
    for (const { call: one, path } of calls) {
      const found = one && find(one.method);
      if (typeof found === 'string') report(placeOf(root, path), found, 'correct the name');
    }
  }
}

function schemaOf(
  schema: object | boolean | undefined,
  keys: readonly string[],
  root: Located,
  packages: Packages,
  report: ReportAt,
): JsonSchemaCheck | undefined {
  if (schema === undefined) return undefined;
  try {
    return jsonSchemaCheck(packages, schema, sharedEvaluator());
  } catch (error) {
    const problem = `${keys.at(-1)} is not a JSON Schema: ${(error as Error).message}`;
    report(placeOf(root, keys), problem, 'Correct the schema');
  }
}

/** Findings of the graph have the names of options, which are the keys of the file. */
function reportFindings(type: Type, root: Located, report: ReportAt): void {
  for (const { step, problem, fix } of analyzeSaga(type)) {
    const option = problem.startsWith('waits for')
      ? 'after'
      : (/^(?:@\w+ (?:has the )?)?([a-zA-Z.]+)\b/.exec(problem)?.[1] ?? '');
    const owner = step === undefined ? [] : ['steps', ownerOf(step)];
    const what = step === undefined ? problem : `step '${step}': ${problem}`;
    report(placeOf(root, [...owner, ...option.split('.')]), what, fix);
  }
}

function checkEnvironment(
  file: string,
  { steps, secrets = new Map<string, string>() }: SagaFile,
  root: Located,
  context: FileContext,
  report: ReportAt,
): void {
  const used = [...steps.values()].flatMap((step) =>
    [step, step.compensate, step.probe].flatMap(expressionsOfCall),
  );
  const names = [...secrets.keys()];
  for (const { at, secrets: asked } of used) {
    for (const name of asked.filter((one) => !secrets.has(one))) {
      const nearest = nearestName(name, names);
      report(
        at,
        `unknown secret '${name}'`,
        nearest === undefined ? 'add it to secrets' : `Did you mean '${nearest}'?`,
      );
    }
  }
  if (!context.checkEnvironment) return;
  const missing = new Set<string>();
  for (const { at, env } of used) {
    for (const name of env.filter((one) => context.environment[one] === undefined && !missing.has(one))) {
      missing.add(name);
      report(at, `the environment variable ${name} is not set`, 'set it, also to an empty text');
    }
  }
  const checkFile = (path: string, keys: readonly string[], what: string): void => {
    try {
      accessSync(resolve(dirname(resolve(file)), path), constants.R_OK);
    } catch {
      report(placeOf(root, keys), `the file of ${what} cannot be read`, 'create it, or correct the path');
    }
  };
  for (const [name, path] of secrets) checkFile(path, ['secrets', name], `the secret '${name}'`);
  for (const { keys, path } of tlsFilesOf(steps)) checkFile(path, keys, `tls.${keys.at(-1)}`);
}

/** Files of certificates whose paths are constants. */
function tlsFilesOf(steps: SagaFile['steps']): { keys: string[]; path: string }[] {
  const calls = [...steps].flatMap(([step, { http, compensate, probe }]) => [
    { http, at: ['steps', step] },
    { http: compensate?.http, at: ['steps', step, 'compensate'] },
    { http: probe?.http, at: ['steps', step, 'probe'] },
  ]);
  return calls.flatMap(({ http, at }) =>
    Object.entries(http?.tls ?? {}).flatMap(([name, { parts }]: [string, TextTemplate]) => {
      const [path, more] = parts;
      const isPath = typeof path === 'string' && more === undefined && !isPem(path);
      return isPath ? [{ keys: [...at, 'http', 'tls', name], path }] : [];
    }),
  );
}

function expressionsOfCall(call: CallFile | undefined): Expression[] {
  const { http, exec, call: method } = call ?? {};
  const words = exec && typeof exec.command !== 'string' ? exec.command : [];
  const texts = [...words, ...(exec?.env?.values() ?? [])];
  const values = [exec?.stdin, method?.input].filter((value) => value !== undefined);
  return [...[...texts, ...values].flatMap(expressionsOf), ...(http ? expressionsOfRequest(http) : [])];
}
