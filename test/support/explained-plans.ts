interface Sql {
  query(text: string): Promise<unknown>;
}

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows'?: number;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface ExplainedPlan {
  readonly text: string;
  readonly root: PlanNode;
  readonly nodes: readonly PlanNode[];
}

/** The rows that a node has read, over all its loops. */
export function rowsRead(node: PlanNode): number {
  return ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
}

/** A plan, as auto_explain prints it. */
export const EXPLAIN_SETTINGS = {
  ...{ log_min_duration: 0, log_nested_statements: 'on', log_analyze: 'on' },
  ...{ log_format: 'json', log_level: 'notice' },
};

/** From now on a connection receives the plans of all its statements, including those inside functions. */
export async function explainEverything(connection: Sql): Promise<void> {
  await connection.query(`LOAD 'auto_explain'`);
  for (const [name, value] of Object.entries(EXPLAIN_SETTINGS))
    await connection.query(`SET auto_explain.${name} = '${value}'`);
}

/** What a notice tells; undefined: it is none of auto_explain's. */
export function explainedPlan(notice: string | undefined): ExplainedPlan | undefined {
  const plan = /^duration: .*? plan:\n(.*)$/s.exec(notice ?? '')?.[1];
  if (plan === undefined) return undefined;
  const { 'Query Text': text, Plan } = JSON.parse(plan) as { 'Query Text': string; Plan: PlanNode };
  return { text, root: Plan, nodes: nodesOf(Plan) };
}

function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}
