import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { printProblems, problemsOf, readDeclared } from '../local/declared-files.js';
import { counted } from '../text/format.js';

export const lint = command({
  words: 'lint',
  operands: ['<path…>'],
  summary: 'Checks declared sagas, and prints each problem with its line',
  details:
    'A path is a folder with YAML files, a YAML or JSON file, or a pattern such as "sagas/**/*.json". Sub-sagas must be among the files. Runs nothing. Exit code: 0 if the files ' +
    'are valid, 1 if one is not, 2 if the command failed.',
  examples: ['saga lint place-order.yaml', 'saga lint sagas/', 'saga lint "sagas/*.yaml" --environment'],
  options: {
    ...JSON_OPTION,
    environment: option.flag('check that the variables and secrets of the files are set here'),
  },
  run: async ({ operands: files, values, terminal }) => {
    try {
      const types = await readDeclared(files, values.environment ?? false);
      if (values.json) terminal.out('[]');
      else terminal.out(`${counted(types.length, 'saga')}, no problems`);
      return EXIT.done;
    } catch (error) {
      const problems = await problemsOf(error);
      if (!problems) throw error;
      if (values.json) terminal.out(JSON.stringify(problems, undefined, 2));
      else await printProblems(problems, (line) => terminal.out(line));
      return EXIT.refused;
    }
  },
});
