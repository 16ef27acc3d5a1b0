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
    subSagasOf(graph).flatMap((node) => missingOf(type, node, sagas)),
  );
  return missing.length > 0 ? missing : circles(sagas, byType);
}

function subSagasOf({ steps }: SagaGraph): StepNode[] {
  return [...steps.values()].filter((node) => node.kind === 'sub-saga');
}

function missingOf({ name }: Type, node: StepNode, sagas: readonly Known[]): string[] {
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
  if (sagas.some(({ type }) => type === child)) return [];
  const like = nearestName(
    child.name,
    sagas.map(({ type }) => type.name),
  );
  return [
    `${where}: ${child.name || 'its class'} is not a saga of this application. Decorate it with @Saga() and add it to the ` +
      `providers of a module${like === undefined ? '' : `, or name ${like}`}`,
  ];
}

/** Sagas that come back to themselves by steps that are always taken would never end. */
function circles(sagas: readonly Known[], byType: ReadonlyMap<Type, Known>): string[] {
  const found = new Map<string, string>();
  const visit = (saga: Known, path: readonly Known[]): void => {
    const at = path.indexOf(saga);
    if (at >= 0) {
      const circle = path.slice(at);
      const names = [...circle, saga].map(({ type }) => type.name);
      const key = names.slice(1).sort().join();
      const problem = `${names.join(' starts ')}, and so on without end. Give one of the @SubSaga steps a \`when\` that ends the recursion`;
      if (!found.has(key)) found.set(key, problem);
      return;
    }
    for (const node of subSagasOf(saga.graph)) {
      if (!node.when) visit(byType.get(node.child!())!, [...path, saga]);
    }
  };
  for (const saga of sagas) visit(saga, []);
  return [...found.values()];
}
