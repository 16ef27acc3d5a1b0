import type { Stats } from 'node:fs';
import { readFile as readText, stat } from 'node:fs/promises';
import type { Type } from '@nestjs/common';
import { SagaConfigurationError, SagaDefinitionError } from 'nestjs-durable-saga';
import {
  buildSagaGraph,
  kind,
  linkSubSagas,
  optional,
  OptionReader,
  type OptionTable,
  reportedOptions,
  sagaNameOf,
  shown,
  suggestion,
  withDefault,
  withoutProblems,
} from 'nestjs-durable-saga/internal';
import { DeclaredSagaError, type DeclaredSagaProblem } from './declared-saga.error.js';
import { findFiles, isPattern } from './find-files.js';
import type { FindMethod } from './action/provider-call.js';
import { HttpConnections } from './action/http-connections.js';
import { Network, type NetworkOptions } from './network/network.js';
import { readFile, type ReadFile } from './read-file.js';
import { LONGEST } from './source/parse-source.js';

/** Options of `readSagas()` and `declareSaga()`. */
export interface ReadSagasOptions {
  /** The variables that `{{ env.<name> }}` reads. Default: `process.env`. */
  environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Whether variables that are not set, and files of secrets that cannot be read, are problems. Set it to false to
   * check or draw sagas where they do not run. Default: true.
   */
  checkEnvironment?: boolean;
  /**
   * The methods of providers that steps with `call` name. A text is a problem: why there is none. Default: none is found.
   */
  findMethod?: FindMethod;
  /**
   * Where requests may go: the only hosts, and whether private addresses are refused. A request that is refused rejects
   * its step. Default: no restriction.
   */
  network?: NetworkOptions;
  /** Classes of sagas that `subSaga` can name, beside those of the files. Default: none. */
  sagas?: readonly Type[];
}

const outsideOfNest: FindMethod = (name) =>
  `'${name}' is a method of a provider, which only a Nest application has (SagaModule.forRoot({ declared }))`;

const READ_OPTIONS = {
  environment: { read: (value = process.env) => value },
  checkEnvironment: withDefault(kind.flag, true),
  findMethod: withDefault(kind.func<FindMethod>(), outsideOfNest),
  network: optional(kind.anything()),
  sagas: withDefault(
    kind.checked<readonly Type[]>((value) => Array.isArray(value), 'give an array of classes of sagas'),
    [],
  ),
} satisfies OptionTable<ReadSagasOptions>;

/** The text of a file, and the path that messages name, whose folder relative paths are relative to. */
export interface SagaSource {
  readonly file: string;
  readonly text: string;
}

/** A saga that was read, and the class that stands for it. */
export interface DeclaredSaga extends SagaSource {
  readonly type: Type;
  readonly name: string;
  readonly version: number;
  /** The names of its sub-sagas. */
  readonly children: readonly string[];
}

/**
 * Reads declared sagas and returns a class for each, in the order of the files. The classes are ordinary saga classes.
 * @param files paths of YAML or JSON files, relative to the working directory, with `*`, `?` and `**`
 * @throws DeclaredSagaError that lists all problems of all files, each with its line and column
 * @throws SagaConfigurationError that names an invalid option
 */
export async function readSagas(
  files: string | readonly string[],
  options: ReadSagasOptions = {},
): Promise<Type[]> {
  const paths = withoutProblems('readSagas()', SagaConfigurationError, (report) =>
    kind.declaredFiles.read(files, 'files', new OptionReader(report)),
  );
  const problems: DeclaredSagaProblem[] = [];
  const sources = await readSources(paths!, problems);
  return (await declareSources(sources, options, problems)).map(({ type }) => type);
}

/** Reads the texts of files. Adds a problem for each that cannot be read, and for patterns that match none. */
export async function readSources(
  files: readonly string[],
  problems: DeclaredSagaProblem[],
): Promise<SagaSource[]> {
  const sources: SagaSource[] = [];
  for (const file of await pathsOf(files, problems)) {
    try {
      const flaw = flawOf(await stat(file));
      if (flaw === undefined) sources.push({ file, text: await readText(file, 'utf8') });
      else problems.push(unreadable(file, ...flaw));
    } catch (error) {
      problems.push(
        unreadable(file, `the file cannot be read: ${(error as Error).message}`, 'correct the path'),
      );
    }
  }
  return sources;
}

/** A pipe or a device would be read for ever. */
function flawOf(stats: Stats): [problem: string, fix: string] | undefined {
  if (!stats.isFile()) return ['this is not a regular file', 'give the path of a file'];
  // A character has four bytes at most.
  const limit = 4 * LONGEST;
  return stats.size > limit
    ? [`the file has ${stats.size} bytes`, `the limit is ${limit}; split it into sub-sagas`]
    : undefined;
}

/**
 * Returns the class of a saga that is written as YAML or JSON.
 * @param text the text of a file
 * @param options those of readSagas(). `file`: the path that messages name, whose folder relative paths are relative to;
 * default: `saga.yaml`
 * @throws DeclaredSagaError, SagaConfigurationError
 */
export async function declareSaga(
  text: string,
  options: ReadSagasOptions & { file?: string } = {},
): Promise<Type> {
  const { file, ...read } = withoutProblems('declareSaga()', SagaConfigurationError, (report) => {
    if (typeof text !== 'string') report(`text is ${shown(text)}`, 'give the text of a YAML or JSON file');
    return reportedOptions({ ...READ_OPTIONS, file: withDefault(kind.text, 'saga.yaml') }, options, report);
  });
  const [saga] = await declareSources([{ file, text }], read);
  return saga!.type;
}

async function pathsOf(written: readonly string[], problems: DeclaredSagaProblem[]): Promise<string[]> {
  const found = new Set<string>();
  for (const path of written) {
    const files = isPattern(path) ? await findFiles(path) : [path];
    if (files.length === 0)
      problems.push(unreadable(path, 'no file matches', 'correct the pattern, or add a file'));
    for (const file of files) found.add(file);
  }
  return [...found];
}

/**
 * Makes a class of each source, in their order.
 * @param problems those that were found before
 * @throws DeclaredSagaError, SagaConfigurationError
 */
export async function declareSources(
  sources: readonly SagaSource[],
  options: ReadSagasOptions = {},
  problems: DeclaredSagaProblem[] = [],
): Promise<DeclaredSaga[]> {
  const { environment, checkEnvironment, findMethod, sagas, network } = withoutProblems(
    'declared sagas',
    SagaConfigurationError,
    (report) => reportedOptions(READ_OPTIONS, options, report),
  );
  const connections = new HttpConnections(Network.of(network), environment);
  const read: ReadFile[] = [];
  // New sagas start on the highest version.
  const latest = new Map<string, Pick<ReadFile, 'type' | 'version'>>();
  const classes = new Map(sagas.toReversed().map((type) => [sagaNameOf(type), type]));
  const childOf = (name: string): Type => (latest.get(name)?.type ?? classes.get(name))!;
  const context = { environment, checkEnvironment, findMethod, childOf, problems, connections };
  for (const { file, text } of sources) {
    const one = readFile(file, text, context);
    if (!one) continue;
    read.push(one);
    if (one.version > (latest.get(one.name)?.version ?? 0)) latest.set(one.name, one);
  }
  const names = new Set([...latest.keys(), ...sagas.map(sagaNameOf)]);
  problems.push(...duplicates(read));
  // A file that could not be read may have the name that is missing.
  if (problems.length === 0) problems.push(...unknownChildren(read, names));
  if (problems.length > 0) throw new DeclaredSagaError(problems);
  checkLinks([...read.map(({ type }) => type), ...sagas]);
  return read.map(({ type, name, version, children }, n) => {
    return { ...sources[n]!, type, name, version, children: [...children.values()] };
  });
}

function duplicates(read: readonly ReadFile[]): DeclaredSagaProblem[] {
  const seen = new Map<string, ReadFile>();
  return read.flatMap((one) => {
    const label = `${one.name}@${one.version}`;
    const before = seen.get(label);
    seen.set(label, one);
    if (!before) return [];
    const problem = `${before.file} has the saga '${one.name}' in version ${one.version}, too`;
    return [
      { file: one.file, ...one.at, problem, fix: `give it another name, or version: ${one.version + 1}` },
    ];
  });
}

function unknownChildren(read: readonly ReadFile[], names: ReadonlySet<string>): DeclaredSagaProblem[] {
  return read.flatMap(({ file, children, placeOf }) =>
    [...children].flatMap(([step, saga]) => {
      if (names.has(saga)) return [];
      const fix = suggestion(saga, names, `The sagas are: ${[...names].join(', ')}. Add its file`);
      const at = placeOf(['steps', step, 'subSaga', 'saga']);
      return [{ file, ...at, problem: `there is no saga '${saga}'`, fix }];
    }),
  );
}

/** @throws SagaDefinitionError when sagas start each other for ever */
function checkLinks(types: readonly Type[]): void {
  const problems = linkSubSagas(types.map((type) => ({ type, graph: buildSagaGraph(type) })));
  if (problems.length > 0) throw new SagaDefinitionError(`${problems.join('. ')}.`);
}

function unreadable(file: string, problem: string, fix: string): DeclaredSagaProblem {
  return { file, line: 1, column: 1, problem, fix };
}
