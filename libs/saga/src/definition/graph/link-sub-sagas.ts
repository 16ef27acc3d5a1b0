import type { Type } from '@nestjs/common';
import { nearestName } from '../../shared/nearest-name.js';
import type { SagaGraph, StepNode } from './saga-graph.js';

/** A saga of an application. */
interface Known {
  readonly type: Type;
  readonly graph: SagaGraph;
}

/**
 * What is wrong between the sagas of an application: each class that a sub-saga step names has to be one of them,
 * and none may start itself again and again.
 */
export function linkSubSagas(sagas: readonly Known[]): string[] {
  const byType = new Map(sagas.map((saga) => [saga.type, saga]));
  const missing = sagas.flatMap(({ type, graph }) =>
    subSagasOf(graph).flatMap((node) => missingOf(type, node, byType)),
  );
  return missing.length > 0 ? missing : circles(sagas, byType);
}

function subSagasOf({ steps }: SagaGraph): StepNode[] {
  return [...steps.values()].filter((node) => node.kind === 'sub-saga');
}

function missingOf({ name }: Type, node: StepNode, byType: ReadonlyMap<Type, Known>): string[] {
  const where = `${name}, step '${node.name}'`;
  let child: unknown;
  try {
    child = node.child!();
  } catch (error) {
    return [
      `${where}: the function given to @SubSaga threw: ${String((error as Error | undefined)?.message ?? error)}`,
    ];
  }
  if (typeof child !== 'function') {
    return [
      `${where}: the function given to @SubSaga returned ${String(child)}. Return the class: () => ShipmentSaga; if it ` +
        `is undefined, two files import each other while they are being loaded`,
    ];
  }
  if (byType.has(child as Type)) return [];
  const like = nearestName(
    child.name,
    [...byType.keys()].map((type) => type.name),
  );
  return [
    `${where}: ${child.name || 'its class'} is not a saga of this application. Decorate it with @Saga() and add it to the ` +
      `providers of a module${like === undefined ? '' : `, or name ${like}`}`,
  ];
}

/**
 * Sagas that come back to themselves by steps that are always taken would never end. Each saga is visited once, so that
 * of circles which share a part, some may be named only once the others are gone.
 */
function circles(sagas: readonly Known[], byType: ReadonlyMap<Type, Known>): string[] {
  const found: string[] = [];
  const visited = new Set<Known>();
  /** The sagas on the way to the one that is visited. */
  const path = new Set<Known>();
  const visit = (saga: Known): void => {
    if (path.has(saga)) {
      const way = [...path];
      const names = [...way.slice(way.indexOf(saga)), saga].map(({ type }) => type.name);
      found.push(
        `${names.join(' starts ')}, and so on without end. Give one of the @SubSaga steps a \`when\` that ends the recursion`,
      );
    }
    if (visited.has(saga)) return;
    visited.add(saga);
    path.add(saga);
    const always = subSagasOf(saga.graph).filter(({ when }) => !when);
    for (const child of new Set(always.map(({ child }) => byType.get(child!())!))) visit(child);
    path.delete(saga);
  };
  for (const saga of sagas) visit(saga);
  return found;
}
