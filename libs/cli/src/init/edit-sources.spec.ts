import ts from 'typescript';
import { withModuleImports, withShutdownHooks } from './edit-sources.js';

const WANTED = [
  { expression: 'SagaModule.forRoot()', needs: [{ name: 'SagaModule', from: 'nestjs-durable-saga' }] },
];
const rootModule = (list: string) => `import { Module } from '@nestjs/common';
import { A } from './a'; // why

@Module({
  imports: ${list},
})
export class AppModule {}
`;
const IMPORTS = `// why\nimport { SagaModule } from 'nestjs-durable-saga';\n\n`;

describe('edits of sources keep', () => {
  test.each([
    ['[\n    A, // first\n    // B,\n  ]', '[\n    A, // first\n    // B,\n    SagaModule.forRoot(),\n  ]'],
    ['[\n    A // first\n  ]', '[\n    A, // first\n    SagaModule.forRoot()\n  ]'],
    ['[A, B // last\n  ]', '[A, B, // last\n  SagaModule.forRoot()\n  ]'],
    ['[A /* a */]', '[A, /* a */ SagaModule.forRoot()]'],
    ['[A, B]', '[A, B, SagaModule.forRoot()]'],
  ])('the comments of the line that they are on: %j', (list, edited) => {
    const source = withModuleImports(ts, rootModule(list), WANTED);
    expect(source).toContain(`imports: ${edited},\n`);
    expect(source).toContain(IMPORTS);
  });

  test('the line ends of Windows', () => {
    const source = withModuleImports(ts, rootModule('[\n    A,\n  ]').replaceAll('\n', '\r\n'), WANTED);
    expect(source?.replaceAll('\r\n', '')).not.toContain('\n');
    expect(source).toContain('    A,\r\n    SagaModule.forRoot(),\r\n');
  });

  test('the comment of the line that creates the application', () => {
    const main = 'async function main() {\n  const app = await NestFactory.create(AppModule); // HTTP\n}\n';
    expect(withShutdownHooks(ts, main)).toContain('// HTTP\n  app.enableShutdownHooks();\n}');
  });
});
