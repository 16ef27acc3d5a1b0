import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

const COMPILER = {
  module: 'nodenext',
  moduleResolution: 'nodenext',
  resolvePackageJsonExports: true,
  esModuleInterop: true,
  isolatedModules: true,
  declaration: true,
  removeComments: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  allowSyntheticDefaultImports: true,
  target: 'ES2023',
  sourceMap: true,
  outDir: './dist',
  incremental: true,
  skipLibCheck: true,
};

/** An application, its files by their paths. */
export type Files = Readonly<Record<string, string>>;

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** What `nest new` wrote of the sources; `extension`: of relative imports. */
function sources(extension: '.js' | '', bootstrap: string): Files {
  return {
    'src/app.module.ts': `import { Module } from '@nestjs/common';
import { AppController } from './app.controller${extension}';
import { AppService } from './app.service${extension}';

@Module({
  imports: [],
  controllers: [AppController],
  providers: [AppService],
})
export class AppModule {}
`,
    'src/app.controller.ts': `import { Controller, Get } from '@nestjs/common';
import { AppService } from './app.service${extension}';

@Controller()
export class AppController {
  constructor(private readonly appService: AppService) {}

  @Get()
  getHello(): string {
    return this.appService.getHello();
  }
}
`,
    'src/app.service.ts': `import { Injectable } from '@nestjs/common';

@Injectable()
export class AppService {
  getHello(): string {
    return 'Hello World!';
  }
}
`,
    'src/main.ts': `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module${extension}';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
${bootstrap}
`,
    'nest-cli.json': json({
      $schema: 'https://json.schemastore.org/nest-cli',
      collection: '@nestjs/schematics',
      sourceRoot: 'src',
      compilerOptions: { deleteOutDir: true },
    }),
  };
}

/** As `nest new` of Nest 12.0.8 makes them: ES modules and Vitest; its plugin for aliases is left out. */
export const NEST_12: Files = {
  ...sources('.js', 'await bootstrap();'),
  'package.json': json({
    name: 'shop',
    private: true,
    type: 'module',
    scripts: { start: 'nest start', test: 'vitest run' },
    dependencies: {
      '@nestjs/common': '^12.0.1',
      '@nestjs/core': '^12.0.1',
      '@nestjs/platform-express': '^12.0.1',
    },
    devDependencies: { '@nestjs/cli': '^12.0.0', typescript: '^6.0.2', vitest: '^4.1.2' },
  }),
  'tsconfig.json': json({
    compilerOptions: {
      ...COMPILER,
      rootDir: '.',
      strict: true,
      strictPropertyInitialization: false,
      types: ['vitest/globals', 'node'],
    },
  }),
  'vitest.config.ts': `import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globals: true,
    root: './',
    include: ['**/*.spec.ts'],
  },
});
`,
};

const NEST_11_JEST = {
  moduleFileExtensions: ['js', 'json', 'ts'],
  rootDir: 'src',
  testRegex: '.*\\.spec\\.ts$',
  transform: { '^.+\\.(t|j)s$': 'ts-jest' },
  collectCoverageFrom: ['**/*.(t|j)s'],
  coverageDirectory: '../coverage',
  testEnvironment: 'node',
};

/** As `nest new` of Nest 11.0.24 makes them: CommonJS and Jest. */
export const NEST_11: Files = {
  ...sources('', 'bootstrap();'),
  'package.json': json({
    name: 'shop',
    private: true,
    scripts: { build: 'nest build', start: 'nest start', test: 'jest' },
    dependencies: {
      '@nestjs/common': '^11.0.1',
      '@nestjs/core': '^11.0.1',
      '@nestjs/platform-express': '^11.0.1',
      'reflect-metadata': '^0.2.2',
      rxjs: '^7.8.1',
    },
    devDependencies: {
      '@types/jest': '^30.0.0',
      '@types/node': '^24.0.0',
      jest: '^30.0.0',
      'ts-jest': '^29.2.5',
      typescript: '^5.7.3',
    },
    jest: NEST_11_JEST,
  }),
  'tsconfig.json': json({
    compilerOptions: {
      ...COMPILER,
      strictNullChecks: true,
      forceConsistentCasingInFileNames: true,
      noImplicitAny: false,
      strictBindCallApply: false,
      noFallthroughCasesInSwitch: false,
    },
  }),
  'test/jest-e2e.json': json({
    moduleFileExtensions: ['js', 'json', 'ts'],
    rootDir: '.',
    testEnvironment: 'node',
    testRegex: '.e2e-spec.ts$',
    transform: { '^.+\\.(t|j)s$': 'ts-jest' },
  }),
};

/** Applications in folders of their own, which go with the test. */
export class NestApps {
  private folders: string[] = [];

  static make(): NestApps {
    const apps = new NestApps();
    afterEach(() => apps.remove());
    return apps;
  }

  /** @param installed the packages of this repository, the built one included; of another Nest, the compiler alone */
  async create(
    files: Files,
    { installed = 'all' }: { installed?: 'all' | 'typescript' | 'nothing' } = {},
  ): Promise<NestAppFolder> {
    const folder = await mkdtemp(join(tmpdir(), 'saga-init-'));
    this.folders.push(folder);
    const app = new NestAppFolder(folder);
    for (const [path, text] of Object.entries(files)) await app.write(path, text);
    if (installed === 'all')
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
    if (installed === 'typescript') {
      await mkdir(join(folder, 'node_modules'));
      const compiler = 'node_modules/typescript';
      await symlink(join(ROOT, compiler), join(folder, compiler), 'junction');
    }
    return app;
  }

  private async remove(): Promise<void> {
    for (const folder of this.folders.splice(0))
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export class NestAppFolder {
  constructor(readonly path: string) {}

  async write(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, file)), { recursive: true });
    await writeFile(join(this.path, file), text);
  }

  read(file: string): Promise<string> {
    return readFile(join(this.path, file), 'utf8');
  }

  /** All of its files, what was installed and built left out. */
  async files(): Promise<Record<string, string>> {
    const entries = await readdir(this.path, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.path, join(entry.parentPath, entry.name)))
      .filter((path) => !/^(node_modules|dist)\b/.test(path));
    return Object.fromEntries(
      await Promise.all(paths.sort().map(async (path) => [path, await this.read(path)] as const)),
    );
  }
}
