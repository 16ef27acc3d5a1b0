import { dirname, resolve } from 'node:path';
import type { Type } from '@nestjs/common';
import { analyzeSaga } from 'nestjs-durable-saga/diagram';
import { jsonSchemaCheck } from './build/json-schema-check.js';
import { ownerOf, sagaClass } from './build/saga-class.js';
import type { DeclaredSagaProblem, Place } from './declared-saga.error.js';
import { sharedEvaluator } from './expression/evaluator.js';
import type { HttpConnections } from './action/http-connections.js';
import { checkCalls, checkSurroundings, type FileSurroundings } from './format/check-calls.js';
import { ShapeReader } from './format/read-shape.js';
import { SAGA_SHAPE } from './format/saga-format.js';
import type { SagaFile } from './format/saga-file.js';
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

export interface FileContext extends FileSurroundings {
  /** The class of a saga by its name. It is called after all files are read. */
  readonly childOf: (saga: string) => Type;
  readonly connections: HttpConnections;
  readonly problems: DeclaredSagaProblem[];
}

/** Reads the text of a file. Undefined: it is invalid, and all of its problems were added. */
export function readFile(file: string, text: string, context: FileContext): ReadFile | undefined {
  const { problems } = context;
  const before = problems.length;
  const report: ReportAt = (at, problem, fix) => void problems.push({ file, ...at, problem, fix });
  const root = parseSource(text, report);
  if (!root) return undefined;
  const reader = new ShapeReader({ report });
  const read = reader.read(root, SAGA_SHAPE, 'the file') as SagaFile;
  if (problems.length > before) return undefined;
  const evaluator = sharedEvaluator();
  const schemaAt = (keys: readonly string[], schema: object | boolean | undefined) => {
    if (schema === undefined) return undefined;
    try {
      return jsonSchemaCheck(schema, evaluator);
    } catch (error) {
      const problem = `${keys.at(-1)} is not a JSON Schema: ${(error as Error).message}`;
      report(placeOf(root, keys), problem, 'Correct the schema');
      return undefined;
    }
  };
  const input = schemaAt(['input'], read.input);
  const resultSchemas = new Map(
    [...read.steps].map(([step, { resultSchema }]) => [
      step,
      schemaAt(['steps', step, 'resultSchema'], resultSchema),
    ]),
  );
  checkCalls(read, root, report);
  checkSurroundings(file, read, root, context, report);
  if (problems.length > before) return undefined;
  const { environment, connections, childOf, findMethod } = context;
  const secrets = read.secrets ?? new Map<string, string>();
  const surroundings = { file, folder: dirname(resolve(file)), environment, evaluator, secrets };
  const type = sagaClass(read, { surroundings, connections, input, resultSchemas, childOf, findMethod });
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
