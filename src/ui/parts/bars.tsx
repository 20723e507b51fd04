interface BarsProps {
  /** A description with the main figures, as text. */
  readonly label: string;
  readonly values: readonly number[];
}

const WIDTH = 4;
const HEIGHT = 18;

/** A small chart for a cell of a table. */
export function Bars({ label, values }: BarsProps) {
  const most = Math.max(1, ...values);
  return (
    <svg class="bars" role="img" aria-label={label} width={values.length * WIDTH} height={HEIGHT}>
      {values.map((value, place) => {
        const height = value === 0 ? 1 : Math.max(2, Math.round((value / most) * HEIGHT));
        return (
          <rect
            class={value === 0 ? 'none' : ''}
            {...{ x: place * WIDTH, y: HEIGHT - height, width: WIDTH - 1, height }}
          />
        );
      })}
    </svg>
  );
}
