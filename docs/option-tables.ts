import { join } from 'node:path';
import ts from 'typescript';
import { entriesOf, IMPORTED } from '../rooms.mjs';

/** An option as its interface declares it. */
export interface DeclaredOption {
  readonly name: string;
  readonly type: string;
  /** As the docstring tells it; of one that has to be given: `required`. Undefined: the docstring tells none. */
  readonly default: string | undefined;
  /** The docstring without its default. */
  readonly purpose: string;
}

/** What the compiler calls the parameters of generic options, in words that say what is given. */
const PARAMETERS: Record<string, string> = {
  Compensation: 'string',
  Probe: 'string',
  After: 'string',
  Transactional: 'boolean',
};
const ENTRIES = IMPORTED.flatMap((folder) => entriesOf(folder).map(({ file }) => `${folder}/src/${file}.ts`));
/** `default true`, `Default: none.`, up to the end of the sentence or a semicolon. */
const DEFAULT = /(?:^|[;.]?\s+|[;,]\s*)default:? (.+?)(?:;|\.(?=\s|$)|$)/i;

/** The options of the library's public interfaces, read from its sources by the compiler. */
export class DeclaredOptions {
  private readonly checker: ts.TypeChecker;
  private readonly exported = new Map<string, ts.Symbol>();

  /** @param libs the folder of the packages */
  constructor(libs: string) {
    const config = ts.readConfigFile(join(libs, '../tsconfig.json'), (file) => ts.sys.readFile(file));
    const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, join(libs, '..'));
    const program = ts.createProgram(
      ENTRIES.map((entry) => join(libs, entry)),
      options,
    );
    this.checker = program.getTypeChecker();
    for (const entry of ENTRIES) {
      const module = this.checker.getSymbolAtLocation(program.getSourceFile(join(libs, entry))!)!;
      for (const symbol of this.checker.getExportsOfModule(module)) {
        const aliased = symbol.flags & ts.SymbolFlags.Alias ? this.checker.getAliasedSymbol(symbol) : symbol;
        this.exported.set(symbol.name, aliased);
      }
    }
  }

  /** The public types that are options, going by their names. */
  names(): string[] {
    return [...this.exported.entries()]
      .filter(([name, symbol]) => /(Options|Policy|Filter|Routes)$/.test(name) && isShape(symbol))
      .map(([name]) => name);
  }

  /** The options of an interface, without those that another one has as well. */
  of(name: string, beyond?: string): DeclaredOption[] {
    const others = new Set(beyond === undefined ? [] : this.members(beyond).map((member) => member.name));
    return this.members(name)
      .filter((member) => !others.has(member.name) && member.name !== '__index')
      .map((member) => this.declared(member));
  }

  private members(name: string): ts.Symbol[] {
    const symbol = this.exported.get(name);
    if (!symbol) throw new Error(`the library exports no ${name}`);
    return this.checker.getPropertiesOfType(this.checker.getDeclaredTypeOfSymbol(symbol));
  }

  private declared(member: ts.Symbol): DeclaredOption {
    const declaration = member.declarations![0] as ts.PropertySignature;
    const text = ts.displayPartsToString(member.getDocumentationComment(this.checker)).replace(/\s+/g, ' ');
    const [sentence, told] = DEFAULT.exec(text) ?? [];
    return {
      name: member.name,
      type: typeText(declaration.type!),
      default: declaration.questionToken ? told : 'required',
      purpose: linked(sentence === undefined ? text : withoutDefault(text, sentence)),
    };
  }
}

function isShape(symbol: ts.Symbol): boolean {
  return (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0;
}

function withoutDefault(text: string, sentence: string): string {
  const [before, after] = text.split(sentence, 2).map((part) => part.trim());
  const ended = before === '' || /[.!?)]$/.test(before!) ? before! : `${before}.`;
  return `${ended} ${after}`.trim();
}

/** A page that a docstring names is a link on the page of options. */
function linked(text: string): string {
  return text.replace(/\bdocs\/([\w/-]+)\.md/g, '[$1]($1.md)');
}

function typeText(type: ts.TypeNode): string {
  return type
    .getText()
    .replace(/\/\/.*$/gm, '')
    .replace(/\breadonly /g, '')
    .replace(/<(?:Input|Item)\b[^|]*>/g, '')
    .replace(/\b[A-Z]\w*\b/g, (word) => PARAMETERS[word] ?? word)
    .replace(/^\s*\|\s*/, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** One row of the page. */
interface Row extends DeclaredOption {
  /** Where to read on; written by hand. */
  readonly more: string;
}

/** A table of the page, and the comment above it that says of what: `<!-- options: StepOptions beyond NodeOptions -->`. */
export interface OptionTable {
  readonly of: string;
  readonly beyond?: string;
  readonly rows: readonly Row[];
}

const TABLE = /<!-- options: (\w+)(?: beyond (\w+))? -->\n\n?((?:\|.*\n)*)/g;

export function tablesOf(page: string): OptionTable[] {
  return [...page.matchAll(TABLE)].map(([, of, beyond, lines]) => ({
    of: of!,
    beyond,
    rows: rowsOf(lines!),
  }));
}

/** The page with its tables drawn anew; what was written by hand in the last column stays. */
export function redrawn(page: string, declared: DeclaredOptions): string {
  return page.replace(TABLE, (_, of: string, beyond: string | undefined, lines: string) => {
    const known = new Map(rowsOf(lines).map(({ name, more }) => [name, more]));
    const rows = declared
      .of(of, beyond)
      .map(({ name, type, default: preset, purpose }) =>
        [`\`${name}\``, `\`${type}\``, preset ?? '?', purpose, known.get(name) ?? ''].map(escaped),
      );
    const cells = [
      ['option', 'type', 'default', 'what it is for', 'more'],
      ['---', '---', '---', '---', '---'],
      ...rows,
    ];
    const heading = `<!-- options: ${of}${beyond === undefined ? '' : ` beyond ${beyond}`} -->`;
    const table = cells.map((row) => `| ${row.join(' | ')} |\n`).join('');
    return `${heading}\n\n${table}${lines === '' ? '\n' : ''}`;
  });
}

function rowsOf(lines: string): Row[] {
  return lines
    .split('\n')
    .slice(2, -1)
    .map((line) => {
      const [name, type, preset, purpose, more] = line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll('\\|', '|'));
      return { name: bare(name!), type: bare(type!), default: preset!, purpose: purpose!, more: more! };
    });
}

function bare(cell: string): string {
  return cell.replace(/^`|`$/g, '');
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|');
}
