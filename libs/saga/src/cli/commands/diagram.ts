import { nearestName } from '../../shared/nearest-name.js';
import { mermaidOf } from '../../definition/describe/mermaid-of-graph.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { operating } from '../session.js';
import { type Deployed } from '../operator-session.js';
import { Refusal, UsageError } from '../usage-error.js';

export const diagram = command({
  words: 'diagram',
  operands: ['<saga[@version]>'],
  summary: 'Prints the deployed graph of a saga as a Mermaid flowchart',
  details: 'Prints the highest version by default. --json prints the graph as data.',
  examples: ['saga diagram place-order > place-order.mmd', 'saga diagram place-order@1 --direction LR'],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    direction: option.text('<TD|LR>', 'TD (top down) or LR (left to right); default: TD'),
  },
  run: async ({ operands: [written], values, terminal }) => {
    const { direction = 'TD' } = values;
    if (direction !== 'TD' && direction !== 'LR')
      throw new UsageError(`--direction '${direction}' is not a direction; give TD or LR`);
    const { about } = await operating(values, terminal, async ({ deployed }) =>
      deployedAs(written!, deployed),
    );
    terminal.out(
      values.json ? JSON.stringify(about, undefined, 2) : mermaidOf(about, { direction }).trimEnd(),
    );
    return EXIT.done;
  },
});

/** By `name@version`, or the highest version of a name. @throws Refusal when none of it was ever deployed */
export function deployedAs(written: string, deployed: readonly Deployed[]): Deployed {
  const ofName = deployed.filter(({ name }) => name === written);
  const found = deployed.find((one) => sagaLabel(one) === written) ?? ofName.at(-1);
  if (found) return found;
  const meant = nearestName(written, [...deployed.map(sagaLabel), ...deployed.map(({ name }) => name)]);
  const names = [...new Set(deployed.map(({ name }) => name))].join(', ') || 'none';
  throw new Refusal(
    `No saga '${written}' was deployed here${meant === undefined ? `. Deployed: ${names}` : `; did you mean '${meant}'?`}`,
    'SAGA_NOT_FOUND',
  );
}
