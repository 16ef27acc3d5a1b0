import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { entriesOf, IMPORTED } from '../../rooms.mjs';

/** An object that a public call takes: where it stands in the call's arguments, and the keys that it may have. */
export interface OptionObject {
  /** `SagaService.bulk`, `new AesGcmCodec`, `mermaidOf`. */
  readonly call: string;
  /** The argument, and the properties below it: `[2, 'expects']`. */
  readonly path: readonly (number | string)[];
  readonly keys: readonly string[];
}

const LIBS = fileURLToPath(new URL('../../libs/', import.meta.url));

/** Every object of options, filter or message that a public call takes, as the built declarations tell. */
export function publicOptionObjects(): OptionObject[] {
  const files = IMPORTED.flatMap((folder) =>
    entriesOf(folder).map(({ file }) => `${LIBS}${folder}/dist/${file}.d.ts`),
  );
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
  });
  const walk = new Walk(program.getTypeChecker());
  for (const file of files) walk.entry(program.getSourceFile(file)!);
  return [...walk.found.values()].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

export function idOf({ call, path: [argument, ...below] }: Pick<OptionObject, 'call' | 'path'>): string {
  return `${call}(${argument})${below.map((name) => `.${name}`).join('')}`;
}

class Walk {
  readonly found = new Map<string, OptionObject>();

  constructor(private readonly checker: ts.TypeChecker) {}

  entry(source: ts.SourceFile): void {
    for (const exported of this.checker.getExportsOfModule(this.checker.getSymbolAtLocation(source)!)) {
      const isAlias = exported.flags & ts.SymbolFlags.Alias;
      const symbol = isAlias ? this.checker.getAliasedSymbol(exported) : exported;
      for (const declaration of symbol.declarations ?? []) this.declared(exported.name, declaration);
    }
  }

  private declared(name: string, declaration: ts.Declaration): void {
    if (ts.isFunctionDeclaration(declaration)) this.call(name, declaration);
    if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) return;
    for (const member of this.membersOf(declaration)) {
      if (ts.isConstructorDeclaration(member) && isPublic(member)) this.call(`new ${name}`, member);
      if ((ts.isMethodDeclaration(member) || ts.isMethodSignature(member)) && isPublic(member))
        this.call(`${name}.${member.name.getText()}`, member);
    }
  }

  /** Its own, and those that it inherits in the library: what else a class inherits is Nest's. */
  private membersOf(declaration: ts.ClassDeclaration | ts.InterfaceDeclaration): readonly ts.Declaration[] {
    const members = this.checker
      .getPropertiesOfType(this.checker.getTypeAtLocation(declaration))
      .flatMap((property) => property.declarations ?? [])
      .filter((one) => one.getSourceFile().fileName.startsWith(LIBS));
    if (!ts.isClassDeclaration(declaration)) return members;
    return [...declaration.members, ...members.filter(({ parent }) => parent !== declaration)];
  }

  private call(call: string, { parameters }: ts.SignatureDeclarationBase): void {
    parameters.forEach((parameter, place) => {
      this.type(call, [place], this.checker.getTypeAtLocation(parameter));
    });
  }

  private type(call: string, path: readonly (number | string)[], type: ts.Type): void {
    if (type.isUnion()) return type.types.forEach((one) => this.type(call, path, one));
    const [element] = this.checker.isArrayType(type)
      ? this.checker.getTypeArguments(type as ts.TypeReference)
      : [];
    if (element) return this.type(call, path, element);
    if (!this.isOptions(type)) return;
    const properties = this.checker.getPropertiesOfType(type);
    const [object, before] = [
      { call, path, keys: properties.map((one) => one.name) },
      this.found.get(idOf({ call, path })),
    ];
    this.found.set(idOf(object), before ? { ...object, keys: [...before.keys, ...object.keys] } : object);
    if (path.length > 3) return;
    for (const property of properties)
      this.type(call, [...path, property.name], this.checker.getTypeOfSymbol(property));
  }

  /** An object whose keys this package has named, and no instance of a class, or part that the application implements. */
  private isOptions(type: ts.Type): boolean {
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) || type.isClass()) return false;
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0) return false;
    if (this.checker.getIndexInfosOfType(type).length > 0) return false;
    const properties = this.checker.getPropertiesOfType(type);
    const declarations = properties.flatMap(({ declarations: all = [] }) => all);
    const isOwn = declarations.some((one) => one.getSourceFile().fileName.startsWith(LIBS));
    const isPart = declarations.every(
      (one) => ts.isMethodSignature(one) || ts.isMethodDeclaration(one) || ts.isClassLike(one.parent),
    );
    return properties.length > 0 && isOwn && !isPart;
  }
}

function isPublic(member: ts.Node): boolean {
  const flags = ts.getCombinedModifierFlags(member as ts.Declaration);
  const isHidden = ts
    .getJSDocTags(member)
    .some(({ tagName }) => ['hidden', 'internal'].includes(tagName.text));
  return !(flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) && !isHidden;
}
