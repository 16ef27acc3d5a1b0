import {
  type GraphLayout,
  type SagaDescription,
  type StepDescription,
  layoutOf,
  mermaidOf,
} from 'nestjs-durable-saga/diagram';
import { type GraphRecord, type SagaGraph, descriptionOf, handlerOf } from 'nestjs-durable-saga/internal';

/** A step as the dashboard draws it. Of a saga that is another process's only its structure is known. */
export type DrawnStep = Pick<StepDescription, 'name' | 'kind'> & Partial<StepDescription>;

/** A saga's graph with the places of its steps. */
export interface SagaDrawing {
  /** All that the saga's class says is known, and not the stored structure alone. */
  readonly known: boolean;
  readonly steps: readonly DrawnStep[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly join?: 'all' | 'any' }[];
  readonly layout: GraphLayout;
}

export interface AdminDefinition extends SagaDescription {
  readonly layout: GraphLayout;
  /** A Mermaid flowchart. */
  readonly mermaid: string;
}

/** Boxes with room for a second line below the name, in which its state stands. */
const BOX = {
  height: 44,
  rowGap: 40,
  columnGap: 24,
  widthOf: (name: string): number => Math.min(320, Math.max(168, 32 + 8 * [...name].length)),
};

export function definitionOf(graph: SagaGraph): AdminDefinition {
  const description = descriptionOf(graph);
  const saga =
    handlerOf(graph.name) === undefined ? description : { ...description, name: handlerOf(graph.name)! };
  return { ...description, layout: layoutOf(description, BOX), mermaid: mermaidOf(saga) };
}

export function drawingOf(graph: SagaGraph): SagaDrawing {
  const { steps, edges } = descriptionOf(graph);
  return { known: true, steps, edges, layout: layoutOf({ steps, edges }, BOX) };
}

/** From what any process has stored of it. */
export function drawingOfRecord({ steps }: GraphRecord): SagaDrawing {
  const edges = steps.flatMap(({ name, after, join = 'all' }) =>
    after.map((from) => ({ from, to: name, join: join as 'all' | 'any' })),
  );
  const drawn = steps.map(({ name, kind, compensate, pivot }) => ({
    name,
    kind,
    ...(compensate !== undefined && { compensation: compensate }),
    ...(pivot && { pivot }),
  }));
  return { known: false, steps: drawn, edges, layout: layoutOf({ steps, edges }, BOX) };
}
