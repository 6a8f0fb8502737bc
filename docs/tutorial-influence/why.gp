# gnuplot -c why.gp DATA > SVG: a bar for each training triple.
set terminal svg size 560,360 font "sans-serif,13" background "white" noenhanced
set title "Hf forms_oxide MO2: for it and against it"
set style fill solid
set boxwidth 0.7
set yrange [11.6:-0.6]
set xlabel "influence, TracIn over five checkpoints"
set grid x lc rgb "#dddddd"
set xzeroaxis
set lmargin 24
unset key
set xtics 0.004 format "%.3f"
plot ARG1 using (0.5 * column(2)):0:(0.5 * abs(column(2))):(0.35):ytic(strcol(1)) with boxxyerror \
  lc rgb "#0072B2"
