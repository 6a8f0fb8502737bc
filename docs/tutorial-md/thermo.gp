# gnuplot -c thermo.gp thermo.txt > SVG: temperature, and energy per atom, over time.
set terminal svg size 560,420 font "sans-serif,13" background "white"
set multiplot layout 2,1
set lmargin 10
set xlabel "time (ps)"
set grid lc rgb "#dddddd"
unset key
set ylabel "temperature (K)"
set ytics 100
plot ARG1 using ($1 / 1000):2 with lines lw 1.5 lc rgb "#0072B2"
set ylabel "potential energy (eV/atom)"
set ytics 0.01
plot ARG1 using ($1 / 1000):3 with lines lw 1.5 lc rgb "#E69F00"
unset multiplot
