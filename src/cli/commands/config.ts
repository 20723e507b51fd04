import type { CliCommand } from '../run/command.ts';

/** `taskq config`: every setting with its value and its source. */
export const config: CliCommand = {
  async run(context) {
    const { describeConfig } = await import('../../config/describe-config.ts');
    const { formatTable } = await import('../present/table.ts');
    const loaded = await context.config();
    const settings = describeConfig(loaded);
    await context.output.answer({ file: loaded.file, settings }, (screen) =>
      formatTable(
        [
          { title: 'SETTING', cell: ({ key }) => key },
          { title: 'VALUE', cell: ({ value }) => value ?? '-', shrinksTo: 20 },
          {
            title: 'SOURCE',
            cell: ({ source }) => source,
            paint: (text, { source }) => (source === 'default' ? screen.paint.dim(text) : text),
          },
        ],
        settings,
        screen,
      ),
    );
    if (context.output.format === 'json') return;
    context.output.talk(
      loaded.file === null ? 'no configuration file' : `configuration file: ${loaded.file}`,
    );
  },
};
