import type { SagaDescription } from '../../definition/describe/saga-description.js';
import { nearestName } from '../../shared/nearest-name.js';
import { mermaidOf } from '../../definition/describe/mermaid-of-graph.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { isDeclaredFile, readDeclared } from '../local/declared-files.js';
import { operating } from '../session.js';
import type { Deployed } from '../operator-session.js';
import { Refusal, UsageError } from '../usage-error.js';

export const diagram = command({
  words: 'diagram',
  operands: ['<saga[@version]> or <file…>'],
  summary: 'Prints the graph of a deployed or declared saga as a Mermaid flowchart',
  details:
    'Prints the highest version by default. --json prints the graph as data. Of a declared saga, give its file and ' +
    'those of its sub-sagas: the first is drawn, without a database.',
  examples: [
    'saga diagram place-order > place-order.mmd',
    'saga diagram place-order@1 --direction LR',
    'saga diagram place-order.yaml',
  ],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    direction: option.text('<TD|LR>', 'TD (top down) or LR (left to right); default: TD'),
  },
  run: async ({ operands, values, terminal }) => {
    const { direction = 'TD' } = values;
    if (direction !== 'TD' && direction !== 'LR')
      throw new UsageError(`--direction '${direction}' is not a direction; give TD or LR`);
    const about = isDeclaredFile(operands[0]!)
      ? await declaredIn(operands)
      : await deployedSaga(operands, (name) =>
          operating(values, terminal, async ({ deployed }) => deployedAs(name, deployed).about),
        );
    terminal.out(
      values.json ? JSON.stringify(about, undefined, 2) : mermaidOf(about, { direction }).trimEnd(),
    );
    return EXIT.done;
  },
});

async function declaredIn(files: readonly string[]): Promise<SagaDescription> {
  const [type] = await readDeclared(files, false);
  const { describeSaga } = await import('../../definition/describe/describe-saga.js');
  return describeSaga(type!);
}

async function deployedSaga(
  [name, extra]: readonly string[],
  find: (name: string) => Promise<SagaDescription>,
): Promise<SagaDescription> {
  if (extra !== undefined) throw new UsageError(`'${extra}' is an unexpected argument`);
  return find(name!);
}

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
