import { childOf, descriptionOf, type SagaDescription } from './saga-description.js';
import type { SagaGraph, StepNode } from '../graph/saga-graph.js';

/**
 * The structure of a saga's graph as plain JSON: what a running instance depends on when the code changes. What the
 * deployed code supplies at each moment (retries, timeouts, predicates, limits, delays) is no part of it.
 */
export interface GraphRecord {
  /** In an order in which every step comes after those that it waits for. */
  readonly steps: readonly StepRecord[];
  /**
   * No structure: what else the code said when it was deployed last, for those who operate sagas without having their
   * classes. A change of it is no change of the graph.
   */
  readonly about?: SagaDescription;
  /** No structure either: what the options of the module ask of operators. */
  readonly operators?: OperatorRules;
}

/** What those have to know who operate sagas from elsewhere. */
export interface OperatorRules {
  /** How many people it takes for their calls. */
  readonly approvals?: Approvals;
  /** Payloads are encoded before they are stored. */
  readonly coded?: true;
}

/** By the name of a call; those that are not here take one person. */
export type Approvals = Readonly<Record<string, number>>;

export interface StepRecord {
  readonly name: string;
  readonly kind: StepNode['kind'];
  /** The name of the saga that a sub-saga step runs. */
  readonly child?: string;
  /** The name of the handler of a remote step. */
  readonly handler?: string;
  /** The name of the signal that it waits for. */
  readonly signal?: string;
  /** The name of the signal that confirms its compensation. */
  readonly reply?: string;
  /** The steps that it waits for, in alphabetical order. */
  readonly after: readonly string[];
  /** The step waits for one of them only. */
  readonly join?: 'any';
  /** The method that undoes it. */
  readonly compensate?: string;
  /** Runs once per item. */
  readonly forEach?: true;
  readonly savepoint?: true;
  readonly pivot?: true;
  /** No structure: how its compensation is called should the code lose the step. */
  readonly transactional?: true;
}

export function recordOf(graph: SagaGraph): GraphRecord {
  return { steps: [...graph.steps.values()].map(stepRecordOf) };
}

/** As it is stored. */
export function describedRecordOf(graph: SagaGraph, operators: OperatorRules = {}): GraphRecord {
  const some = Object.keys(operators).length > 0;
  return { ...recordOf(graph), about: descriptionOf(graph), ...(some && { operators }) };
}

/** Without what is not so: the shorter, the better to be read in the table. */
function stepRecordOf(node: StepNode): StepRecord {
  return {
    name: node.name,
    kind: node.kind,
    ...(node.kind === 'sub-saga' && { child: childOf(node) }),
    ...(node.remote && { handler: node.remote.name }),
    ...signalsOfNode(node),
    after: [...new Set(node.after)].sort(),
    ...(node.join === 'any' && { join: 'any' }),
    ...(node.compensate !== undefined && { compensate: node.compensate }),
    ...(node.forEach && { forEach: true }),
    ...(node.savepoint && { savepoint: true }),
    ...(node.pivot && { pivot: true }),
    ...(node.transactional && { transactional: true }),
  };
}

/** The names of the signals that the steps of a structure wait for, decisions on approvals apart. Each once. */
export function signalsOf(steps: Iterable<Pick<StepRecord, 'signal' | 'reply'>>): string[] {
  const names = [...steps].flatMap(({ signal, reply }) => [signal, reply]);
  return [...new Set(names)].filter((name) => name !== undefined);
}

/** Returns the signals of the graph of a class. */
export function signalsOfGraph({ steps }: SagaGraph): string[] {
  return signalsOf([...steps.values()].map(signalsOfNode));
}

function signalsOfNode({ kind, wait, compensationReply }: StepNode): Pick<StepRecord, 'signal' | 'reply'> {
  return {
    ...(kind === 'signal' && { signal: wait!.signal }),
    ...(compensationReply && { reply: compensationReply.signal }),
  };
}

/** What a step of each kind is, in the words of messages. */
export const KIND_NAMES: Record<StepNode['kind'], string> = {
  step: 'a step',
  'sub-saga': 'a sub-saga',
  remote: 'a remote step',
  signal: 'a wait for a signal',
  approval: 'an approval',
};
